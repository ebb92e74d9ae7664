#pragma once

#include "ir/passes/recompute.h"
#include "ir/program.h"

namespace parhelion::ir {

/// The passes that follow model building and differentiation, in their one order: recompute, fuse,
/// fold views, instantiate. The program is verified after each.
///
/// Errors: those of `instantiate`.
Program lower(Program program, const Capacities& capacities, Recompute policy = Recompute::none);

}  // namespace parhelion::ir
