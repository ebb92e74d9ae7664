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
  std::int64_t scored = 0;  ///< of these, whose next token is in the prompt and is reported
  bool draws = false;       ///< its last token gives a new one
};

/// Shares a step out: first a token for each sequence that decodes, then the tokens that others
/// have still to consume, in the order in which they stand, until `budget` tokens, or what any
/// instance of the catalogue covers, are used up.
void plan_parts(std::span<const std::unique_ptr<Sequence>> running,
                std::span<const ir::Capacities> catalogue, std::int64_t budget,
                std::vector<Part>& parts);

}  // namespace parhelion::serve
