#pragma once

#include "text/grammar/stepper.h"
#include "text/grammar/token_grammar.h"

namespace parhelion::text {

/// A stepper which has, behind the bottom, a node for each rule in order that stands for all the
/// callers the rule may have.
Stepper make_contexts(const Automaton& automaton);

/// What a state allows, by a walk over the tree of tokens. `contexts` comes from make_contexts.
StateMask make_state_mask(const Automaton& automaton, const TokenTable& table, Stepper contexts,
                          StateIndex state);

}  // namespace parhelion::text
