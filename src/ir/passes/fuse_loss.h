#pragma once

#include "ir/program.h"

namespace parhelion::ir {

/// Turns a LinearCrossEntropy and its gradient into one LinearCrossEntropyStep, in place of the
/// gradient, where the gradient needs nothing of the loss itself. Forward ops that read the loss
/// move behind it and into its phase. Bits are kept, and logits are computed once.
void fuse_loss(Program& program);

}  // namespace parhelion::ir
