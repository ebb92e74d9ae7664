#pragma once

#include "exec/cuda/kernels/common.cuh"

namespace parhelion::exec::cuda {

/// How a row lies over threads: `threads` of them hold up to `packs` packs each.
template <int threads, int packs>
struct RowShape {
  static constexpr int kThreads = threads;
  static constexpr int kPacks = packs;
  static constexpr int kBlock = threads < 128 ? 128 : threads;
  static constexpr int kRows = kBlock / threads;  ///< rows of a block
};

/// Packs of the widest row that a RowShape holds.
inline constexpr std::int64_t kMostRowPacks = 2048;

/// Whether rows are whole packs and few enough for a RowShape. Follows from the columns alone.
template <class T>
bool has_row_shape(std::int64_t cols) {
  return cols % Pack<T>::kCount == 0 && cols / Pack<T>::kCount <= kMostRowPacks;
}

/// Calls `body` with the narrowest RowShape that holds `packs`.
template <class Body>
void with_row_shape(std::int64_t packs, Body body) {
  if (packs <= 8) {
    body(RowShape<8, 1>{});
  } else if (packs <= 16) {
    body(RowShape<16, 1>{});
  } else if (packs <= 32) {
    body(RowShape<32, 1>{});
  } else if (packs <= 128) {
    body(RowShape<32, 4>{});
  } else if (packs <= 256) {
    body(RowShape<128, 2>{});
  } else if (packs <= 512) {
    body(RowShape<128, 4>{});
  } else {
    body(RowShape<512, 4>{});
  }
}

/// The place of this thread in its row.
template <class Shape>
__device__ __forceinline__ int row_lane() {
  return static_cast<int>(threadIdx.x) % Shape::kThreads;
}

/// The place of this thread's row in its block.
template <class Shape>
__device__ __forceinline__ int row_slot() {
  return static_cast<int>(threadIdx.x) / Shape::kThreads;
}

/// This thread's packs of a row, zeros behind its end or where the row is not `live`.
template <class Shape, class T>
__device__ __forceinline__ void load_row(const T* row, int packs, bool live,
                                         Pack<T> (&out)[Shape::kPacks]) {
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
    out[i] = live && at < packs ? reinterpret_cast<const Pack<T>*>(row)[at] : Pack<T>{};
  }
}

/// The sum over the threads of a row, the same bits in each. All threads of the block take part.
template <class Shape>
__device__ __forceinline__ float row_sum(float x, float* scratch) {
  if constexpr (Shape::kThreads > kWarpSize) {
    return block_sum(x, scratch);
  } else {
#pragma unroll
    for (int step = Shape::kThreads / 2; step > 0; step /= 2)
      x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
  }
}

/// The sum of squares of this thread's packs.
template <class Shape, class T>
__device__ __forceinline__ float square_sum(const Pack<T> (&x)[Shape::kPacks]) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
#pragma unroll
    for (int e = 0; e < Pack<T>::kCount; ++e) {
      const float value = to_float(x[i].at[e]);
      sum = fmaf(value, value, sum);
    }
  }
  return sum;
}

__device__ __forceinline__ float rms_norm_rstd(float squares, std::int64_t cols, float eps) {
  return 1.0f / sqrtf(squares / static_cast<float>(cols) + eps);
}

// Rows that have no RowShape: a block of kAnyRowThreads holds one, reading it again and again.

inline constexpr int kAnyRowThreads = 256;

/// The sum over a row of f(c) for each of its columns, the same bits in all threads.
template <class F>
__device__ __forceinline__ float any_row_sum(std::int64_t cols, float* scratch, const F& f) {
  float sum = 0.0f;
  for (std::int64_t c = threadIdx.x; c < cols; c += kAnyRowThreads) sum = f(sum, c);
  return block_sum(sum, scratch);
}

template <class T>
__device__ __forceinline__ float any_row_rstd(const T* x, std::int64_t cols, float eps,
                                              float* scratch) {
  const float squares = any_row_sum(cols, scratch, [&](float sum, std::int64_t c) {
    const float value = to_float(x[c]);
    return fmaf(value, value, sum);
  });
  return rms_norm_rstd(squares, cols, eps);
}

}  // namespace parhelion::exec::cuda
