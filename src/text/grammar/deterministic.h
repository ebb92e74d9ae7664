#pragma once

#include "text/grammar/automaton.h"
#include "text/grammar/nondeterministic.h"

#include <vector>

namespace parhelion::text {

/// A state on the way to an `Automaton`, with edges of its own.
struct DraftState {
  std::vector<ByteEdge> byte_edges;
  std::vector<RuleEdge> rule_edges;
  RuleId rule;
  bool accepts = false;
};

struct DraftAutomaton {
  std::vector<DraftState> states;
  std::vector<StateIndex> starts;  ///< of each rule
  std::vector<bool> can_be_empty;  ///< of each rule
};

/// Makes the automata deterministic by the subset construction.
///
/// Errors: exhausted if that needs more states or work than the limits of the book allow.
DraftAutomaton determinize(const LooseAutomata& loose, const RuleBook& book);

}  // namespace parhelion::text
