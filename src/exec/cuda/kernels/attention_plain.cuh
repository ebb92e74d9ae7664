#pragma once

#include "exec/cuda/check.h"
#include "exec/cuda/kernels/attention_plain.h"
#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/launch.cuh"

#include <algorithm>

namespace parhelion::exec::cuda {

/// Keys that are folded alone.
inline constexpr std::int64_t kPlainBlock = 128;

/// The span of `indptr` [spans + 1] that holds `token`; -1 if none does.
__device__ __forceinline__ std::int64_t span_of(const std::int32_t* indptr, std::int64_t spans,
                                                std::int64_t token) {
  if (token < indptr[0] || token >= indptr[spans]) return -1;
  std::int64_t low = 0;
  std::int64_t high = spans;
  while (high - low > 1) {  // indptr[low] <= token < indptr[high]
    const std::int64_t middle = (low + high) / 2;
    (indptr[middle] <= token ? low : high) = middle;
  }
  return low;
}

/// The first token of a span that `span_of` found. Like all of indptr it is data, and cut to [0,
/// token].
__device__ __forceinline__ std::int64_t span_begin(const std::int32_t* indptr, std::int64_t span,
                                                   std::int64_t token) {
  return min(max(static_cast<std::int64_t>(indptr[span]), std::int64_t{0}), token);
}

/// The dot product of a row in shared memory and one of T, columns ascending.
template <class T>
__device__ __forceinline__ float plain_dot(const float* a, const T* b, std::int64_t d) {
  float sum = 0.0f;
  for (std::int64_t c = 0; c < d; ++c) sum = fmaf(a[c], to_float(b[c]), sum);
  return sum;
}

/// A row of T into shared memory, by one warp.
template <class T>
__device__ __forceinline__ void plain_load(float* to, const T* from, std::int64_t d, int lane) {
  for (std::int64_t c = lane; c < d; c += kWarpSize) to[c] = to_float(from[c]);
}

template <class T>
__device__ __forceinline__ void plain_store(T* to, const float* from, std::int64_t d, int lane) {
  for (std::int64_t c = lane; c < d; c += kWarpSize) to[c] = from_float<T>(from[c]);
}

__device__ __forceinline__ void plain_fill(float* to, float value, std::int64_t count, int lane) {
  for (std::int64_t c = lane; c < count; c += kWarpSize) to[c] = value;
}

/// This warp's number among all, and its memory of `floats` floats.
struct PlainWarp {
  std::int64_t index;
  int lane;
  float* memory;
};
__device__ __forceinline__ PlainWarp plain_warp(std::int64_t floats) {
  extern __shared__ float plain_memory[];
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  return {static_cast<std::int64_t>(blockIdx.x) * warps + warp,
          static_cast<int>(threadIdx.x) % kWarpSize, plain_memory + warp * floats};
}

/// Launches `kernel` with one warp for each of `items`, which has `floats` floats of memory.
template <class Args>
void launch_plain(void (*kernel)(Args), const Args& args, std::int64_t items, std::int64_t floats,
                  cudaStream_t stream) {
  if (items == 0) return;
  constexpr std::int64_t kPreferredBytes = 40 << 10;
  const std::int64_t bytes = floats * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t warps = std::clamp<std::int64_t>(kPreferredBytes / bytes, 1, 4);
  const std::int64_t shared = warps * bytes;
  if (shared > kPreferredBytes) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared)),
          "plain attention memory");
  }
  launch("plain attention", kernel,
         {.blocks = block_count(items, warps),
          .threads = static_cast<unsigned>(warps * kWarpSize),
          .shared_bytes = static_cast<std::size_t>(shared)},
         stream, args);
}

}  // namespace parhelion::exec::cuda
