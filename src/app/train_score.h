#pragma once

#include "exec/executor.h"
#include "model/open.h"

#include <span>
#include <vector>

namespace parhelion::app {

/// The log-probability of each id after the first, through the forward program of training.
///
/// Errors: invalid if there are fewer than two ids, an id is outside the vocabulary, or the ids do
/// not fit the context.
std::vector<float> score_through_training(const model::OpenedModel& opened,
                                          std::span<const std::int32_t> ids, ir::Kind kind,
                                          exec::Executor& executor);

}  // namespace parhelion::app
