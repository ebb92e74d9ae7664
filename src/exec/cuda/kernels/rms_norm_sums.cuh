#pragma once

#include "exec/cuda/kernels/row_shape.cuh"

namespace parhelion::exec::cuda {

// Sums over rows for the gradient of a norm's weight: blocks of rows, each of which one block of
// threads folds. The order is the same in every kernel that has them.

/// Rows that one group of threads folds: enough that sums of blocks are few beside x and dy.
template <class Shape>
inline constexpr int kFoldedRows = Shape::kPacks == 4 && Shape::kThreads == kWarpSize ? 8 : 32;

/// Rows of a block.
template <class Shape>
inline constexpr int kFoldedBlock = kFoldedRows<Shape>* Shape::kRows;

/// Blocks of rows that have a RowShape.
template <class T>
std::int64_t folded_blocks_of(std::int64_t rows, std::int64_t cols) {
  std::int64_t result = 0;
  with_row_shape(cols / Pack<T>::kCount, [&](auto shape) {
    constexpr std::int64_t kBlock = kFoldedBlock<decltype(shape)>;
    result = (rows + kBlock - 1) / kBlock;
  });
  return result;
}

/// sum += dy * round(x * rstd) over this thread's packs.
template <class T, class Shape>
__device__ __forceinline__ void add_products(const Pack<T> (&x)[Shape::kPacks],
                                             const Pack<T> (&dy)[Shape::kPacks], float rstd,
                                             float (&sum)[Shape::kPacks][Pack<T>::kCount]) {
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
#pragma unroll
    for (int e = 0; e < Pack<T>::kCount; ++e) {
      const float unit = to_float(from_float<T>(to_float(x[i].at[e]) * rstd));
      sum[i][e] = fmaf(to_float(dy[i].at[e]), unit, sum[i][e]);
    }
  }
}

/// Writes the sums of the one row of threads that a block has.
template <class T, class Shape>
__device__ __forceinline__ void store_own_sums(const float (&sum)[Shape::kPacks][Pack<T>::kCount],
                                               float* partial, int packs) {
  constexpr int kCount = Pack<T>::kCount;
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
    if (at >= packs) continue;
#pragma unroll
    for (int e = 0; e < kCount; e += 4) {
      *reinterpret_cast<float4*>(partial + at * kCount + e) =
          make_float4(sum[i][e], sum[i][e + 1], sum[i][e + 2], sum[i][e + 3]);
    }
  }
}

/// Writes the sums of a block's rows of threads, added ascending.
template <class T, class Shape>
__device__ __forceinline__ void store_added_sums(const float (&sum)[Shape::kPacks][Pack<T>::kCount],
                                                 float* partial, int packs) {
  constexpr int kCount = Pack<T>::kCount;
  __shared__ float sums[Shape::kRows][Shape::kThreads * Shape::kPacks * kCount];
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
#pragma unroll
    for (int e = 0; e < kCount; ++e) sums[row_slot<Shape>()][at * kCount + e] = sum[i][e];
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < packs * kCount; c += Shape::kBlock) {
    float total = 0.0f;
#pragma unroll
    for (int slot = 0; slot < Shape::kRows; ++slot) total += sums[slot][c];
    partial[c] = total;
  }
}

/// Writes the sums of a block's rows of threads. All threads of the block take part.
template <class T, class Shape>
__device__ __forceinline__ void store_sums(const float (&sum)[Shape::kPacks][Pack<T>::kCount],
                                           float* partial, int packs) {
  if constexpr (Shape::kRows == 1) {
    store_own_sums<T, Shape>(sum, partial, packs);
  } else {
    store_added_sums<T, Shape>(sum, partial, packs);
  }
}

}  // namespace parhelion::exec::cuda
