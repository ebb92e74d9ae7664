#pragma once

#include "exec/executor.h"
#include "ir/program.h"
#include "state/checkpoint.h"
#include "state/tensor.h"

#include <span>
#include <vector>

namespace parhelion::train {

/// The content of the executor's `buffers`, whose dims are numbers, as tensors to save. They show
/// its memory, so they change when a plan runs that updates it.
///
/// Errors: invalid if no plan names a buffer.
std::vector<state::TensorView> buffer_tensors(exec::Executor& executor,
                                              std::span<const ir::Buffer> buffers);

/// Gives the executor's `buffers` the content that was saved of them.
///
/// Errors: invalid, before anything is changed, if `saved` has other tensors than these buffers, or
///         a buffer's element type or shape is another; the message names them.
void restore_buffers(const state::Checkpoint& saved, std::span<const ir::Buffer> buffers,
                     exec::Executor& executor);

}  // namespace parhelion::train
