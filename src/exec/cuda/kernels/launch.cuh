#pragma once

#include "exec/cuda/check.h"

#include <cuda_runtime.h>
#include <string_view>

namespace parhelion::exec::cuda {

/// Starts `kernel` and checks that it started; nothing where there are no blocks.
template <class... Parameters, class... Arguments>
void launch(std::string_view name, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
            cudaStream_t stream, Arguments... arguments) {
  if (blocks.x == 0 || blocks.y == 0) return;
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
  check_launch(name);
}

}  // namespace parhelion::exec::cuda
