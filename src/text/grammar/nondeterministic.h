#pragma once

#include "text/grammar/expression.h"

#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::text {

/// A step of a nondeterministic automaton: over bytes, over a whole rule, or over nothing.
struct LooseEdge {
  enum class Kind : std::uint8_t { nothing, bytes, rule };
  std::int32_t from = 0;
  std::int32_t to = 0;
  Kind kind = Kind::nothing;
  ByteRange bytes;
  RuleId rule;
};

/// Where the automaton of one rule begins and ends.
struct LooseRule {
  std::int32_t start = 0;
  std::int32_t end = 0;
};

/// The rules of a book as nondeterministic automata over bytes and rules.
class LooseAutomata {
 public:
  /// Errors: exhausted if they have more states than the limits of the book allow.
  explicit LooseAutomata(const RuleBook& book);

  std::span<const LooseEdge> edges(std::int32_t state) const;
  std::int64_t state_count() const { return static_cast<std::int64_t>(first_edge_.size()) - 1; }
  const std::vector<LooseRule>& rules() const { return rules_; }

 private:
  friend class LooseBuilder;
  std::vector<LooseEdge> edges_;         // by `from`
  std::vector<std::size_t> first_edge_;  // of each state, and the end
  std::vector<LooseRule> rules_;
};

}  // namespace parhelion::text
