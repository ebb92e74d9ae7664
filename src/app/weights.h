#pragma once

#include "contract/core.h"
#include "exec/executor.h"
#include "model/open.h"

namespace parhelion::app {

/// Reads every weight, converts it to `kind` and gives it to the executor, whose plans name them.
///
/// Errors: as model::load_parameters.
void upload_weights(const model::OpenedModel& opened, ir::Kind kind, exec::Executor& executor);

/// Gives every weight of a core to the executor as it is.
void upload_weights(const contract::Core& core, exec::Executor& executor);

}  // namespace parhelion::app
