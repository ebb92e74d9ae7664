#pragma once

#include "ir/program.h"

namespace parhelion::ir {

/// Replaces compositions by fused ops with the same bits, never across phases:
/// a residual sum and the norm that follows become AddRmsNorm; a gate and an up projection whose
/// products only meet in a Swiglu become GateUp.
void fuse(Program& program);

}  // namespace parhelion::ir
