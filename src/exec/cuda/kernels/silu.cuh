#pragma once

#include "exec/cuda/kernels/common.cuh"

namespace parhelion::exec::cuda {

/// sigmoid(x) and x sigmoid(x). Where T is bf16 by the fast intrinsics __expf and __fdividef, whose
/// errors of a few units of f32 its rounding hides.
struct Silu {
  float sigmoid;
  float silu;
};

template <class T>
__device__ __forceinline__ Silu silu_of(float x) {
  if constexpr (sizeof(T) == 2) {
    const float bottom = 1.0f + __expf(-x);
    return {__fdividef(1.0f, bottom), __fdividef(x, bottom)};
  } else {
    const float bottom = 1.0f + expf(-x);
    return {1.0f / bottom, x / bottom};
  }
}

/// x rounded to what T stores.
template <class T>
__device__ __forceinline__ float round_to(float x) {
  return to_float(from_float<T>(x));
}

/// round(silu(gate)) * up, in f32.
template <class T>
__device__ __forceinline__ float swiglu_of(float gate, float up) {
  return round_to<T>(silu_of<T>(gate).silu) * up;
}

}  // namespace parhelion::exec::cuda
