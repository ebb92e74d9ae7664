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

/// Shares a step out: first a token for each sequence that decodes, then the tokens that others
/// have still to consume, in the order in which they stand, until `budget` tokens, or what any
/// instance covers, are used up. A sequence whose next token would be one too many has no part.
/// Only sequences that embed have a part in a step that embeds, and only others in others.
void plan_parts(std::span<const std::unique_ptr<Sequence>> running, StepKind kind,
                const InstanceSet& instances, std::int64_t budget, std::vector<Part>& parts);

}  // namespace parhelion::serve
