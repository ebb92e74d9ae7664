#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// Whether the text shows the stop string that ends it.
enum class StopText : std::uint8_t { hidden, shown };

/// Ends a text at the first of several stop strings, as the text comes in pieces cut anywhere. The
/// match that ends first counts, and of those the longest. Of what has come, only the longest end
/// that may yet become a stop string is held back. A copy goes on from where the original stands.
class StopFilter {
 public:
  /// Errors: invalid if a stop string is empty.
  explicit StopFilter(const std::vector<std::string>& stops, StopText shows = StopText::hidden);

  /// What of the text so far can be shown now; nothing more once a stop string has come.
  std::string push(std::string_view text);

  /// What was held back, at the end of a text that no stop string ended. Another text may follow.
  std::string flush();

  /// The stop string that has come, or null.
  const std::string* matched() const;

 private:
  /// A stop string with, for each of its beginnings, the longest beginning that ends it too.
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallbacks;
  };

  static Pattern make_pattern(const std::string& text);
  static std::size_t advance(const Pattern& pattern, std::size_t length, char c);
  std::string end_with(std::string shown, std::size_t pattern);

  std::shared_ptr<const std::vector<Pattern>> patterns_;
  std::vector<std::size_t> lengths_;  // how much of each pattern the text ends with
  StopText shows_;
  std::string held_;
  const Pattern* matched_ = nullptr;  // owned by patterns_
};

}  // namespace parhelion::text
