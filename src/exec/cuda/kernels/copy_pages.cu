#include "exec/cuda/kernels/copy_pages.h"
#include "exec/cuda/kernels/launch.cuh"

namespace parhelion::exec::cuda {
namespace {

constexpr int kPageThreads = 256;

template <class Unit>
__device__ __forceinline__ void copy_units(const std::byte* from, std::byte* to,
                                           std::int64_t bytes) {
  const Unit* x = reinterpret_cast<const Unit*>(from);
  Unit* y = reinterpret_cast<Unit*>(to);
  const std::int64_t units = bytes / static_cast<std::int64_t>(sizeof(Unit));
  for (std::int64_t u = threadIdx.x; u < units; u += kPageThreads) y[u] = x[u];
}

// Every chunk for every lane, one block each. Pages of whole 16 bytes begin aligned to them.
// Traffic: reads and writes the pages that are copied.
__global__ void __launch_bounds__(kPageThreads)
    copy_pages_kernel(const PageChunk* chunks, std::int64_t lanes, const bool* gate) {
  wait_for_inputs();
  if (gate != nullptr && !*gate) return;
  const PageChunk chunk = chunks[blockIdx.x / lanes];
  const std::int64_t lane = blockIdx.x % lanes;
  if (lane >= chunk.lanes) return;
  const std::int64_t from = chunk.source[lane];
  const std::int64_t to = chunk.destination[lane];
  if (from < 0 || from >= chunk.page_count || to < 1 || to >= chunk.page_count || from == to)
    return;
  const std::byte* x = chunk.pages + from * chunk.page_bytes + chunk.first;
  std::byte* y = chunk.pages + to * chunk.page_bytes + chunk.first;
  if (chunk.page_bytes % 16 == 0) {
    copy_units<uint4>(x, y, chunk.count);
  } else {
    copy_units<std::uint8_t>(x, y, chunk.count);
  }
}

}  // namespace

void copy_pages(const PageChunk* chunks, std::int64_t count, std::int64_t lanes, const bool* gate,
                cudaStream_t stream) {
  launch("copy_pages", copy_pages_kernel, static_cast<unsigned>(count * lanes), kPageThreads,
         stream, chunks, lanes, gate);
}

}  // namespace parhelion::exec::cuda
