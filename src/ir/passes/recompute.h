#pragma once

#include "ir/program.h"

namespace parhelion::ir {

/// Which forward results are kept for the backward pass.
enum class Recompute : std::uint8_t {
  none,   ///< all that are read
  layer,  ///< what enters a layer; the rest of it is computed again before its first gradient op
};

/// Rewrites a differentiated program under the policy. Clones keep layer and label and run in phase
/// input_grad; ops with effects on state are never cloned. The results have the same bits under
/// every policy.
void recompute(Program& program, Recompute policy);

}  // namespace parhelion::ir
