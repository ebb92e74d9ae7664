#pragma once

#include "serve/sequence.h"
#include "serve/step_choice.h"

#include <span>
#include <vector>

namespace parhelion::serve {

/// What a sequence does in a step.
struct Part {
  Sequence* sequence = nullptr;
  std::int64_t tokens = 0;
  std::int64_t scored = 0;        ///< of these, whose next token is in the prompt and is reported
  std::int64_t first_scored = 0;  ///< the first of them: those before it were reported already
  bool draws = false;             ///< its last token gives a new one, or the prompt's vector
  const LogitEditsView* edits = nullptr;  ///< of the logits that it draws from
};

/// Who goes first where a step has not room for all.
struct Turns {
  std::uint64_t first_decoding = 0;  ///< arrival of the first that had no room; 0: all had
  bool scores_first = false;         ///< prompts that are scored go before others
};

/// Shares a step out: first a token for each sequence that decodes, then the tokens that others
/// have still to consume, in the order in which they stand, until `budget` tokens, or what any
/// instance covers, are used up. A sequence whose next token would be one too many has no part.
/// Only sequences that embed have a part in a step that embeds, and only others in others. Gives
/// the turns of the next step: those that decode and had no room, since edits take it, begin then;
/// prompts that are scored, which few tokens of a step can be, and others begin by turns.
Turns plan_parts(std::span<Sequence* const> in_turn, StepKind kind, const InstanceSet& instances,
                 std::int64_t budget, Turns turns, std::vector<Part>& parts);

}  // namespace parhelion::serve
