#pragma once

#include "ir/passes/fit_recompute.h"
#include "ir/passes/recompute.h"
#include "ir/program.h"

#include <variant>

namespace parhelion::ir {

/// What decides which forward results are kept: a rule, or what fits.
using RecomputePolicy = std::variant<Recompute, ActivationBudget>;

/// The passes that follow model building and differentiation, in their one order: fuse the loss,
/// recompute, fuse, fold views, instantiate. The program is verified after each.
///
/// Errors: those of `instantiate` and, with a budget, of `fit_recompute`.
Program lower(Program program, const Capacities& capacities,
              const RecomputePolicy& policy = Recompute::none);

}  // namespace parhelion::ir
