#pragma once

#include "exec/cuda/kernels/row_shape.cuh"

namespace parhelion::exec::cuda {

// The arithmetic of norms by element and row, the same in every kernel that has them.

/// s = round(x + r), elementwise.
template <class T>
__device__ __forceinline__ Pack<T> sum_of(const Pack<T>& x, const Pack<T>& r) {
  Pack<T> sum;
#pragma unroll
  for (int e = 0; e < Pack<T>::kCount; ++e)
    sum.at[e] = from_float<T>(to_float(x.at[e]) + to_float(r.at[e]));
  return sum;
}

/// w * round(x * rstd), rounded.
template <class T>
__device__ __forceinline__ T normed(T x, T w, float rstd) {
  return from_float<T>(to_float(w) * to_float(from_float<T>(to_float(x) * rstd)));
}

/// The sum of w dy x over this thread's packs.
template <class Shape, class T>
__device__ __forceinline__ float slope_sum(const Pack<T> (&x)[Shape::kPacks],
                                           const Pack<T> (&w)[Shape::kPacks],
                                           const Pack<T> (&dy)[Shape::kPacks]) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
#pragma unroll
    for (int e = 0; e < Pack<T>::kCount; ++e) {
      const float g = to_float(w[i].at[e]) * to_float(dy[i].at[e]);
      sum = fmaf(g, to_float(x[i].at[e]), sum);
    }
  }
  return sum;
}

/// dx of one element, with slope = rstd^2 * mean(w dy x) of its row.
template <class T>
__device__ __forceinline__ T rms_norm_dx(T x, T w, T dy, float rstd, float slope) {
  const float g = to_float(w) * to_float(dy);
  return from_float<T>(rstd * fmaf(-to_float(x), slope, g));
}

}  // namespace parhelion::exec::cuda
