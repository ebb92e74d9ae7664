#pragma once

#include "exec/cuda/check.h"

#include <cstdint>
#include <cuda_runtime.h>
#include <string_view>

namespace parhelion::exec::cuda {

/// Blocks that lie on the device at once and end soon: what comes next may take the room beside.
inline constexpr std::uint64_t kFewBlocks = 256;

/// Waits until the kernel ahead has ended and what it wrote is seen. The first statement of every
/// kernel, before any return, since all are launched while the kernel ahead runs: one that ended
/// without having waited would let the next begin before what is two ahead has ended. A kernel of
/// few blocks lets the next be launched meanwhile.
__device__ __forceinline__ void wait_for_inputs() {
  if (std::uint64_t{gridDim.x} * gridDim.y <= kFewBlocks) cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
}

struct LaunchGrid {
  dim3 blocks;
  dim3 threads;
  std::size_t shared_bytes = 0;  ///< memory of a block beside what its kernel declares
};

/// Whether kernels on `stream` may be launched while the kernel ahead runs: on those of a higher
/// priority than the standard one, as make_dependent_stream gives.
inline bool launches_dependently(cudaStream_t stream) {
  int priority = 0;
  check(cudaStreamGetPriority(stream, &priority), "cudaStreamGetPriority");
  return priority < 0;
}

/// Starts `kernel`, which waits for the kernel ahead by itself, and checks that it started; nothing
/// where there are no blocks.
template <class... Parameters, class... Arguments>
void launch(std::string_view name, void (*kernel)(Parameters...), const LaunchGrid& grid,
            cudaStream_t stream, const Arguments&... arguments) {
  if (grid.blocks.x == 0 || grid.blocks.y == 0) return;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = launches_dependently(stream) ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

template <class... Parameters, class... Arguments>
void launch(std::string_view name, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
            cudaStream_t stream, const Arguments&... arguments) {
  launch(name, kernel, LaunchGrid{blocks, threads}, stream, arguments...);
}

}  // namespace parhelion::exec::cuda
