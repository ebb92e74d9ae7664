#pragma once

#include "text/grammar/automaton.h"

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::text {

/// Who waits for the rules that are open: a node of a `CallStacks`.
using NodeIndex = std::int32_t;

/// Where reading a text stands: in a state of a rule, for the callers of `node`.
struct Position {
  StateIndex state = 0;
  NodeIndex node = 0;
  auto operator<=>(const Position&) const = default;
};

/// The stacks of open rules of all readings of a text at once. A node is a set of callers: the
/// position behind the edge over the rule that was opened. Equal sets are one node, so reading the
/// same nesting again takes no memory. Nodes stay until all is destroyed.
class CallStacks {
 public:
  /// The node of the callers, which are in order and differ.
  NodeIndex intern(std::span<const Position> callers);
  /// Adds a node whose callers may lie ahead; `set_callers` gives them. It is never found by
  /// intern.
  NodeIndex add_open_node();
  void set_callers(NodeIndex node, std::span<const Position> callers);

  std::span<const Position> callers(NodeIndex node) const {
    const Span span = nodes_[static_cast<std::size_t>(node)];
    return std::span(callers_).subspan(span.begin, span.count);
  }
  std::int64_t node_count() const { return static_cast<std::int64_t>(nodes_.size()); }

 private:
  struct Span {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };
  NodeIndex append(std::span<const Position> callers);
  void grow();

  std::vector<Position> callers_;
  std::vector<Span> nodes_;
  std::vector<NodeIndex> slots_;  // a hash table: a power of two, at most half full, -1 = free
};

/// Reads a text byte by byte, in all ways at once. The automaton must outlive it.
class Stepper {
 public:
  /// The node of the whole: its caller is the position behind it.
  static constexpr NodeIndex kBottom = 0;

  explicit Stepper(const Automaton& automaton);

  /// The positions before the first byte.
  void start(std::vector<Position>& out);
  /// The positions behind `byte`: those of `from` step over it, finished rules are left, rules
  /// that may come next are entered. Only positions remain from which a byte can follow, and that
  /// behind the whole.
  ///
  /// Errors: exhausted if there are too many ways to read the text.
  void step(std::span<const Position> from, std::uint8_t byte, std::vector<Position>& out);
  /// Leaves finished rules and enters others from the positions in `out`, as step does.
  void complete(std::vector<Position>& out);

  CallStacks& stacks() { return stacks_; }
  const CallStacks& stacks() const { return stacks_; }

 private:
  struct PendingRule {
    std::int32_t rank = 0;
    RuleId rule;
  };

  void add_position(Position position, std::vector<Position>& out) const;
  void leave_rules(std::vector<Position>& out) const;
  void enter_rules(std::vector<Position>& out);
  void forget_pending();
  void call_rules_from(const Position& position);
  void add_caller(RuleId rule, Position caller);

  const Automaton* automaton_;
  CallStacks stacks_;
  std::vector<PendingRule> pending_;            // a heap: the lowest rank first
  std::vector<std::vector<Position>> callers_;  // of each pending rule; empty for the others
  bool is_entering_ = false;                    // also after an error on the way
};

}  // namespace parhelion::text
