#pragma once

#include "text/grammar/matcher.h"
#include "text/reply/forced_call.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace parhelion::app {

/// One way to write a call that must be made, in tokens.
struct ForcedCallRule {
  std::vector<std::int32_t> before = {};  ///< exactly these
  std::shared_ptr<const text::TokenGrammar> arguments = {};
  std::vector<std::int32_t> after = {};  ///< exactly these
};

/// Joins the ways that differ by their schema alone.
std::vector<text::ForcedCall> join_alike(std::vector<text::ForcedCall> calls);

/// Holds a reply to one of several ways to write a call, and to its end behind it.
///
/// Threads: one at a time.
class ForcedCallMask {
 public:
  /// `stop_ids` end the reply, and come nowhere else.
  ForcedCallMask(const std::vector<ForcedCallRule>& rules, std::vector<std::int32_t> stop_ids);

  /// As serve::TokenMask.
  void fill(std::span<std::uint32_t> bits);
  void accept(std::int32_t id);
  /// Whether the call is written whole.
  bool is_whole() const;

 private:
  /// One way, and how far the reply has followed it.
  struct Way {
    ForcedCallRule rule;
    std::size_t before = 0;  // tokens of it that were drawn
    std::optional<text::GrammarMatcher> matcher = {};
    std::size_t after = 0;
  };
  bool follow(Way& way, std::int32_t id) const;
  void begin_arguments(Way& way) const;
  void allow(Way& way, std::span<std::uint32_t> bits);

  std::vector<std::int32_t> stop_ids_;
  std::vector<Way> ways_;  // that the reply may still be
  std::vector<std::uint32_t> one_;
};

}  // namespace parhelion::app
