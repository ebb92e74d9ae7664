#pragma once

#include "app/executor.h"
#include "contract/core.h"

#include <span>

namespace parhelion::app {

/// Runs golden probes on a device, with the instances of a contract and its weights.
///
/// Errors: as make_executor, serve::Engine and serve::record_golden.
contract::Golden run_golden_probes(const contract::Contract& contract,
                                   std::span<const contract::WeightView> weights,
                                   const ExecutorChoice& choice);

}  // namespace parhelion::app
