#pragma once

#include "ir/program.h"

namespace parhelion::ir {

/// Removes every Reshape whose result is an activation: its readers read the source in the new
/// shape.
void fold_views(Program& program);

}  // namespace parhelion::ir
