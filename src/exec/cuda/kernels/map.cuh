#pragma once

#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/part.cuh"

namespace parhelion::exec::cuda {

inline constexpr int kMapCount = 8;  // elements a thread
inline constexpr int kMapThreads = 256;

template <class T>
using MapPack = Part<T, kMapCount>;

template <class T>
__device__ __forceinline__ MapPack<T> map_load(const T* x) {
  return load_part<kMapCount>(x);
}

/// y[i] = f(x[i]...) of one whole pack. All loads come before the store, so y may be an x.
template <class F, class Y, class... X>
__device__ __forceinline__ void map_pack(const F& f, Y* y, const MapPack<X>&... x) {
  MapPack<Y> result;
#pragma unroll
  for (int i = 0; i < kMapCount; ++i) result.at[i] = from_float<Y>(f(to_float(x.at[i])...));
  store_part(y, result);
}

// y[i] = f(x[i]...) in f32, rounded once, one pack per thread.
// Traffic: every operand once.
// Needs:   operands aligned to 16 bytes; y may be an x.
template <class F, class Y, class... X>
__global__ void __launch_bounds__(kMapThreads)
    map_kernel(F f, std::int64_t count, const bool* gate, Y* y, const X*... x) {
  wait_for_inputs();
  if (gate != nullptr && !*gate) return;
  const std::int64_t first =
      kMapCount * (static_cast<std::int64_t>(blockIdx.x) * kMapThreads + threadIdx.x);
  if (first + kMapCount <= count) {
    map_pack(f, y + first, map_load(x + first)...);
    return;
  }
  for (std::int64_t i = first; i < count; ++i) y[i] = from_float<Y>(f(to_float(x[i])...));
}

/// Blocks of kMapThreads threads, each of one pack.
inline unsigned map_blocks(std::int64_t count) {
  return block_count(count, std::int64_t{kMapCount} * kMapThreads);
}

/// Shapes: y and each x [count]
template <class F, class Y, class... X>
void launch_map(std::string_view name, F f, std::int64_t count, const bool* gate,
                cudaStream_t stream, Y* y, const X*... x) {
  launch(name, map_kernel<F, Y, X...>, map_blocks(count), kMapThreads, stream, f, count, gate, y,
         x...);
}

}  // namespace parhelion::exec::cuda
