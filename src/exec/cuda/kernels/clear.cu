#include "exec/cuda/kernels/clear.h"
#include "exec/cuda/kernels/launch.cuh"

namespace parhelion::exec::cuda {
namespace {

constexpr int kClearThreads = 256;

// Zeros in every chunk, one block per chunk.
// Traffic: writes the chunks.
__global__ void __launch_bounds__(kClearThreads)
    clear_kernel(const ClearChunk* chunks, const bool* gate) {
  wait_for_inputs();
  if (gate != nullptr && !*gate) return;
  const ClearChunk chunk = chunks[blockIdx.x];
  const std::int64_t packs = chunk.count / 4;
  for (std::int64_t i = threadIdx.x; i < packs; i += kClearThreads)
    reinterpret_cast<float4*>(chunk.begin)[i] = make_float4(0, 0, 0, 0);
  for (std::int64_t i = 4 * packs + threadIdx.x; i < chunk.count; i += kClearThreads)
    chunk.begin[i] = 0;
}

}  // namespace

void clear(const ClearChunk* chunks, std::int64_t count, const bool* gate, cudaStream_t stream) {
  launch("clear", clear_kernel, static_cast<unsigned>(count), kClearThreads, stream, chunks, gate);
}

}  // namespace parhelion::exec::cuda
