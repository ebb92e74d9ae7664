#pragma once

#include "ir/program.h"

#include <vector>

namespace parhelion::ir {

/// The forward ops that may be computed again, in groups, so that keeping the results of the first
/// n groups no more costs least for the bytes that it frees. Within a layer each group frees
/// something once those before it are not kept. Of equals the lowest layer comes first: its clones
/// live when the upper layers' results are gone.
///
/// Inputs: a differentiated program whose dims are numbers
std::vector<std::vector<OpId>> recompute_order(const Program& instance);

}  // namespace parhelion::ir
