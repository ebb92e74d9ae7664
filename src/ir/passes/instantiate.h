#pragma once

#include "ir/program.h"

namespace parhelion::ir {

/// The program with every symbol replaced by its capacity. Only instances are planned and run.
///
/// Errors: invalid if a symbol that the program uses has no capacity.
Program instantiate(const Program& program, const Capacities& capacities);

}  // namespace parhelion::ir
