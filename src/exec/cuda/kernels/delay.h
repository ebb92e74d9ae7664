#pragma once

#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Keeps the stream busy for some milliseconds, so that what is enqueued meanwhile runs without
/// waiting for the host.
void delay(int milliseconds, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
