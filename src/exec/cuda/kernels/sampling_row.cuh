#pragma once

#include "exec/cuda/kernels/log_sum_exp.cuh"
#include "exec/cuda/kernels/logit_key.cuh"

#include <cooperative_groups.h>

namespace parhelion::exec::cuda {

/// A weight, or a sum of them, in units of 2^-44.
using Mass = unsigned long long;

inline constexpr int kSampleBlocks = 8;  ///< blocks of one cluster, which share a row
inline constexpr int kSampleThreads = 512;
inline constexpr int kSampleWarps = kSampleBlocks * kSampleThreads / kWarpSize;
inline constexpr int kSampleDigit = 8;  ///< bits of a key that one pass looks at
inline constexpr int kSampleBins = 1 << kSampleDigit;

/// Where a prefix of the candidates in descending order ends.
struct SampleBin {
  int bin;  ///< -1: all candidates are not enough
  unsigned count;
  unsigned count_before;
  Mass mass_before;
};

/// One block's part of a row's passes.
struct SampleShared {
  unsigned counts[kSampleBins];
  Mass masses[kSampleBins];
  SampleBin found;
};

/// Who is a candidate.
struct SampleFilter {
  float max;
  float temperature;
  float min_p;
  LogitKey limit = 0;  ///< the smallest key

  __device__ float weight(float x) const { return expf(__fdiv_rn(x - max, temperature)); }
};

/// The mass of a candidate, in units of 2^-44; false if x is none.
__device__ __forceinline__ bool is_candidate(const SampleFilter& filter, float x, std::int64_t id,
                                             Mass& mass) {
  const float weight = filter.weight(x);
  mass = __float2ull_rn(weight * 0x1p44f);
  return weight > 0.0f && weight >= filter.min_p && logit_key(x, id) >= filter.limit;
}

__device__ __forceinline__ Mass warp_total(Mass x) {
  for (int step = kWarpSize / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

/// The sum over the lanes before this one.
template <class T>
__device__ __forceinline__ T warp_before(T x, int lane) {
  T sum = x;
  for (int step = 1; step < kWarpSize; step *= 2) {
    const T other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  return sum - x;
}

/// One row, and this thread's place in the cluster that works on it.
struct SampleRow {
  const float* row;
  std::int64_t columns;
  std::int64_t units;
  UnitState* states;  ///< this block's units: unit u is number u / kSampleBlocks of block u % ..
  Mass* masses;       ///< of the candidates of this block's units
  SampleShared* shared;
  cooperative_groups::cluster_group cluster;
  int lane;
  int warp;  ///< in the cluster
  bool is_aligned;

  __device__ float4 load(std::int64_t column) const {
    return is_aligned ? load_columns<true>(row, column, columns)
                      : load_columns<false>(row, column, columns);
  }

  /// An object of the block that holds `unit`.
  template <class T>
  __device__ T of_unit(T* own, std::int64_t unit) const {
    return *cluster.map_shared_rank(own + unit / kSampleBlocks,
                                    static_cast<unsigned>(unit % kSampleBlocks));
  }

  /// Calls body(x, id) for this thread's columns of `unit`, ascending.
  template <class Body>
  __device__ void for_columns(std::int64_t unit, const Body& body) const {
#pragma unroll
    for (int i = 0; i < kUnitPacks; ++i) {
      const std::int64_t column = unit_column(unit, i, lane);
      const float4 x = load(column);
      const float each[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (column + j < columns) body(each[j], column + j);
      }
    }
  }
};

}  // namespace parhelion::exec::cuda
