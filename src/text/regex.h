#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace parhelion::text {

enum class RegexSyntax : std::uint8_t {
  expression,  ///< as the Oniguruma engine of Hugging Face tokenizers reads it
  literal,     ///< a plain string
};

struct RegexMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct RegexCode;

/// A compiled regular expression. Immutable.
class Regex {
 public:
  /// `where` names it in errors.
  ///
  /// Errors: unsupported if the expression uses what has another meaning in PCRE2; corrupt if it is
  /// no expression.
  Regex(std::string_view pattern, RegexSyntax syntax, std::string_view where);

 private:
  friend class RegexSearch;
  std::shared_ptr<const RegexCode> code_;
};

struct RegexScratch;

/// One search through one text. Keeps the memory which matching needs.
class RegexSearch {
 public:
  RegexSearch(const Regex& regex, std::string_view text);
  ~RegexSearch();
  RegexSearch(const RegexSearch&) = delete;
  RegexSearch& operator=(const RegexSearch&) = delete;

  /// The next match behind the last one, as Oniguruma's iterator gives it: an empty match at the
  /// end of the last match is passed over.
  ///
  /// Errors: exhausted if matching passes the engine's limits.
  std::optional<RegexMatch> next();

 private:
  std::optional<RegexMatch> match_from(std::size_t at);

  std::shared_ptr<const RegexCode> code_;
  std::string_view text_;
  std::unique_ptr<RegexScratch> scratch_;
  std::size_t at_ = 0;
  std::optional<std::size_t> last_end_;
};

/// The expression in the syntax of PCRE2 with Unicode properties, or an error as of `Regex`.
std::string translate_regex(std::string_view pattern, std::string_view where);

}  // namespace parhelion::text
