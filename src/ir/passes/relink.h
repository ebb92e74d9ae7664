#pragma once

#include "ir/program.h"

namespace parhelion::ir {

/// Makes a program whole again after a pass changed its list of ops: producers follow from the ops,
/// and activations that no op touches any more are dropped. Ids held outside the program become
/// stale.
void relink(Program& program);

/// For each value (by index): how many operands read it.
std::vector<std::int32_t> count_uses(const Program& program);

}  // namespace parhelion::ir
