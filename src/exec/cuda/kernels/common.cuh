#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace parhelion::exec::cuda {

inline constexpr int kWarpSize = 32;

template <class T>
__device__ __forceinline__ float to_float(T x) {
  return static_cast<float>(x);
}
template <>
__device__ __forceinline__ float to_float<__nv_bfloat16>(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

/// x rounded to T, to nearest even.
template <class T>
__device__ __forceinline__ T from_float(float x) {
  return static_cast<T>(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

/// 16 bytes of elements, loaded and stored at once.
template <class T>
struct alignas(16) Pack {
  static constexpr int kCount = 16 / sizeof(T);
  T at[kCount];
};

__device__ __forceinline__ float warp_sum(float x) {
  for (int step = kWarpSize / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

__device__ __forceinline__ float warp_max(float x) {
  for (int step = kWarpSize / 2; step > 0; step /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

/// The sum over all threads of a block of whole warps, the same bits in each; `scratch` is
/// kWarpSize floats of shared memory.
__device__ __forceinline__ float block_sum(float x, float* scratch) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  x = warp_sum(x);
  __syncthreads();
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  return warp_sum(lane < warps ? scratch[lane] : 0.0f);
}

/// Calls `body` with a value of the device type of `kind`: float or __nv_bfloat16.
template <class Body>
void with_type(ir::Kind kind, Body body) {
  if (kind == ir::Kind::bf16) {
    body(__nv_bfloat16{});
  } else {
    body(float{});
  }
}

/// Blocks of `threads` that cover `count`, at most `most`.
inline unsigned block_count(std::int64_t count, std::int64_t threads,
                            std::int64_t most = std::int64_t{1} << 30) {
  const std::int64_t blocks = (count + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

}  // namespace parhelion::exec::cuda
