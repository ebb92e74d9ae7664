#pragma once

#include "exec/executor.h"
#include "ir/program.h"
#include "state/checkpoint.h"
#include "train/checkpoint/snapshot.h"

#include <memory>
#include <span>
#include <vector>

namespace parhelion::train {

/// The executor's `buffers`, whose dims are numbers, as tensors to copy beside plans that only read
/// them; those that `kept` holds are copied from there. The executor outlives the copies.
std::vector<SnapshotTensor> buffer_snapshots(
    exec::Executor& executor, std::span<const ir::Buffer> buffers,
    const std::shared_ptr<exec::KeptBuffers>& kept = nullptr);

/// Copies of buffers that later runs do not change, or none (exec::Executor::keep).
std::shared_ptr<exec::KeptBuffers> keep_buffers(exec::Executor& executor,
                                                std::span<const ir::Buffer> parameters,
                                                std::span<const ir::Buffer> optimizer);

/// Gives the executor's `buffers` the content that was saved of them.
///
/// Errors: invalid, before anything is changed, if `saved` has other tensors than these buffers, or
///         a buffer's element type or shape is another; the message names them.
void restore_buffers(const state::Checkpoint& saved, std::span<const ir::Buffer> buffers,
                     exec::Executor& executor);

}  // namespace parhelion::train
