#pragma once

#include "ir/program.h"

#include <vector>

namespace parhelion::ir {

/// The bytes that the activations of a microbatch may take: the peaks of slot and transient arena.
/// Below 0 where other things have taken more than there is.
struct ActivationBudget {
  std::int64_t bytes = 0;
};

/// The first groups of `recompute_order` with which the planned activations of a differentiated
/// program fit in a budget, ascending; none where all fit as they are. More bytes never give more
/// ops.
///
/// Errors: exhausted if they do not fit with all groups, saying how much is missing.
std::vector<OpId> fit_recompute(const Program& program, const Capacities& capacities,
                                ActivationBudget budget);

}  // namespace parhelion::ir
