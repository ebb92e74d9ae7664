#pragma once

#include "contract/contract.h"
#include "exec/executor.h"

#include <functional>

namespace parhelion::prepare {

/// Plans every instance of a contract with memory plans on `executor` and writes down which kernel
/// each op gets. An executor that measures candidates does so here. `is_wanted` is asked before
/// each instance.
///
/// Errors: of planning, as Executor::plan; invalid once `is_wanted` says no.
void choose_kernels(contract::Contract& contract, exec::Executor& executor,
                    const std::function<bool()>& is_wanted);

}  // namespace parhelion::prepare
