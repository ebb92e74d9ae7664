#pragma once

#include "text/grammar/expression.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace parhelion::text {

/// A state of an `Automaton`. States of all rules are numbered together.
using StateIndex = std::int32_t;

struct ByteEdge {
  std::uint8_t first = 0;
  std::uint8_t last = 0;
  StateIndex to = 0;
};
struct RuleEdge {
  RuleId rule;
  StateIndex to = 0;
};

struct AutomatonState {
  std::int32_t first_byte_edge = 0;
  std::int32_t byte_edge_count = 0;
  std::int32_t first_rule_edge = 0;
  std::int32_t rule_edge_count = 0;
  RuleId rule;           ///< whose automaton it belongs to
  bool accepts = false;  ///< the rule may end here
};

struct AutomatonRule {
  std::string name;
  StateIndex start = 0;
  std::int32_t rank = 0;  ///< greater than that of each rule which may begin with this one
  bool can_be_empty = false;
};

/// A recursive transition network over bytes: one deterministic automaton for each rule, whose
/// edges are bytes or whole rules. From every state the rule can be finished. An edge over a rule
/// stands for texts of at least one byte: where the rule may be empty, the state behind it is
/// merged into the state before it. No rule begins with itself.
struct Automaton {
  std::vector<AutomatonState> states;
  std::vector<ByteEdge> byte_edges;  ///< of each state by their bytes, which do not overlap
  std::vector<RuleEdge> rule_edges;
  std::vector<AutomatonRule> rules;  ///< rule 0 is the whole
  StateIndex final_state = 0;        ///< behind the whole; it has no edges

  const AutomatonState& state(StateIndex index) const {
    return states[static_cast<std::size_t>(index)];
  }
  const AutomatonRule& rule(RuleId id) const { return rules[static_cast<std::size_t>(id.index)]; }
  std::span<const ByteEdge> bytes_from(const AutomatonState& state) const {
    return std::span(byte_edges)
        .subspan(static_cast<std::size_t>(state.first_byte_edge),
                 static_cast<std::size_t>(state.byte_edge_count));
  }
  std::span<const RuleEdge> rules_from(const AutomatonState& state) const {
    return std::span(rule_edges)
        .subspan(static_cast<std::size_t>(state.first_rule_edge),
                 static_cast<std::size_t>(state.rule_edge_count));
  }
};

/// The automaton of the rules of `book`.
///
/// Errors: invalid if a rule begins with itself, or if nothing matches the whole; exhausted if the
///         automaton passes the limits of the book.
Automaton compile_automaton(const RuleBook& book);

}  // namespace parhelion::text
