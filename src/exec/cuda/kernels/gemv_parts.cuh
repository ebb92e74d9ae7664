#pragma once

#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/gemv.h"

#include <cstdint>
#include <span>

namespace parhelion::exec::cuda {

// What kernels of products of one row share.

inline constexpr int kGemvWarps = 4;
inline constexpr int kGemvThreads = kGemvWarps * kWarpSize;
inline constexpr int kPackNumbers = 8;  // bf16 numbers of 16 bytes

/// A lane's packs of one row of weights: every 32nd from its own on.
template <int steps>
struct WeightPacks {
  uint4 at[steps];

  /// Packs from `first` on; those past the row are zero.
  __device__ __forceinline__ void load(const uint4* row, int first, int packs) {
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      const int pack = first + i * kWarpSize;
      at[i] = pack < packs ? __ldcs(row + pack) : make_uint4(0, 0, 0, 0);
    }
  }

  __device__ __forceinline__ float dot(const uint4* x, int first, int packs, float sum) const {
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      const int pack = first + i * kWarpSize;
      const uint4 other = pack < packs ? x[pack] : make_uint4(0, 0, 0, 0);
      const auto* a = reinterpret_cast<const __nv_bfloat162*>(&at[i]);
      const auto* b = reinterpret_cast<const __nv_bfloat162*>(&other);
#pragma unroll
      for (int j = 0; j < kPackNumbers / 2; ++j) {
        const float2 u = __bfloat1622float2(a[j]);
        const float2 v = __bfloat1622float2(b[j]);
        sum = fmaf(u.y, v.y, fmaf(u.x, v.x, sum));
      }
    }
    return sum;
  }
};

/// The place of this warp among those of all blocks.
__device__ __forceinline__ int gemv_row() {
  return static_cast<int>(blockIdx.x) * kGemvWarps + static_cast<int>(threadIdx.x) / kWarpSize;
}

/// Products whose outputs follow each other: those of `i` end before `end[i]`.
template <class Y>
struct GemvParts {
  const uint4* w[kMostGemvs];
  Y* y[kMostGemvs];
  int end[kMostGemvs];
  int count;
};

/// A row of weights: its part and its place there.
struct PartRow {
  int part;
  int row;
};

/// Where a row among those of all parts lies.
template <class Y>
__device__ __forceinline__ PartRow part_row(const GemvParts<Y>& parts, int row) {
  int part = 0;
  while (row >= parts.end[part]) ++part;
  return {part, part > 0 ? row - parts.end[part - 1] : row};
}

inline unsigned gemv_blocks(std::int64_t rows) { return block_count(rows, kGemvWarps); }

template <class Y>
GemvParts<Y> parts_of(std::span<const Gemv> args) {
  GemvParts<Y> parts{};
  int end = 0;
  for (const Gemv& each : args) {
    end += static_cast<int>(each.n);
    parts.w[parts.count] = static_cast<const uint4*>(each.weight);
    parts.y[parts.count] = static_cast<Y*>(each.y);
    parts.end[parts.count++] = end;
  }
  return parts;
}

}  // namespace parhelion::exec::cuda
