#pragma once

#include "contract/core.h"
#include "exec/executor.h"
#include "model/open.h"

#include <span>

namespace parhelion::app {

/// Reads every weight, converts it to `kind` and gives it to the executor, whose plans name them.
///
/// Errors: as model::load_parameters.
void upload_weights(const model::OpenedModel& opened, ir::Kind kind, exec::Executor& executor);

/// Gives every weight of a core to the executor as it is.
void upload_weights(std::span<const contract::WeightView> weights, exec::Executor& executor);

}  // namespace parhelion::app
