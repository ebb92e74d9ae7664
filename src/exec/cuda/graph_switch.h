#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>
#include <functional>
#include <span>

namespace parhelion::exec::cuda {

/// Nodes of the graph that `stream` captures, so far; a switch is one.
///
/// Errors: as make_condition.
std::int64_t captured_nodes(cudaStream_t stream);

/// Enqueues one of the bodies of a switch.
using SwitchBody = std::function<void(cudaStream_t)>;

/// A value of the graph that `stream` captures, which a kernel of it sets by
/// cudaGraphSetConditional in each run.
///
/// Errors: bug if `stream` captures none; device.
cudaGraphConditionalHandle make_condition(cudaStream_t stream);

/// Adds to the graph that `stream` captures: body n runs if `condition` is n then, none if it is
/// not below their number. `body_stream`, which captures nothing, is lent to the bodies.
///
/// Errors: as make_condition.
void capture_switch(cudaStream_t stream, cudaStream_t body_stream,
                    cudaGraphConditionalHandle condition, std::span<const SwitchBody> bodies);

}  // namespace parhelion::exec::cuda
