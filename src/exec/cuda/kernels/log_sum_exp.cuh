#pragma once

#include "exec/cuda/kernels/common.cuh"

namespace parhelion::exec::cuda {

/// The fold of a log-sum-exp: units of 1024 columns from 0, each alone (max, sum of exp(x - max));
/// then the largest max, and the sums scaled to it added by unit modulo 32, then over lanes. So it
/// is a function of the row alone. Exponentials by __expf, whose error of |x - max| units of f32
/// falls on small terms.
inline constexpr int kUnitColumns = 1024;
inline constexpr int kUnitPacks = kUnitColumns / (4 * kWarpSize);  ///< packs of four per lane
inline constexpr float kLowest = -INFINITY;

struct UnitState {
  float max;
  float sum;
};

__host__ __device__ inline std::int64_t unit_count(std::int64_t columns) {
  return (columns + kUnitColumns - 1) / kUnitColumns;
}

/// Column of the first number of a lane's pack.
__device__ __forceinline__ std::int64_t unit_column(std::int64_t unit, int pack, int lane) {
  return unit * kUnitColumns + (pack * kWarpSize + lane) * 4;
}

/// Four columns from `column` on; what lies past the row is -infinity. `is_aligned`: rows are
/// aligned to 16 bytes and their columns a multiple of four.
template <bool is_aligned>
__device__ __forceinline__ float4 load_columns(const float* row, std::int64_t column,
                                               std::int64_t columns) {
  float4 x = make_float4(kLowest, kLowest, kLowest, kLowest);
  if constexpr (is_aligned) {
    if (column < columns) x = *reinterpret_cast<const float4*>(row + column);
  } else {
    if (column < columns) x.x = row[column];
    if (column + 1 < columns) x.y = row[column + 1];
    if (column + 2 < columns) x.z = row[column + 2];
    if (column + 3 < columns) x.w = row[column + 3];
  }
  return x;
}

/// A lane's numbers of one unit.
struct UnitPacks {
  float4 x[kUnitPacks];
};

template <bool is_aligned>
__device__ __forceinline__ UnitPacks load_unit(const float* row, std::int64_t unit,
                                               std::int64_t columns, int lane) {
  UnitPacks packs;
#pragma unroll
  for (int i = 0; i < kUnitPacks; ++i)
    packs.x[i] = load_columns<is_aligned>(row, unit_column(unit, i, lane), columns);
  return packs;
}

/// The state of one unit, in every lane of the warp that calls it.
__device__ __forceinline__ UnitState unit_state(const UnitPacks& packs) {
  float max = kLowest;
#pragma unroll
  for (int i = 0; i < kUnitPacks; ++i) {
    const float4& x = packs.x[i];
    max = fmaxf(max, fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)));
  }
  max = warp_max(max);
  const bool is_empty = max == kLowest;  // or all numbers are NaN
  const float shift = is_empty ? 0.0f : max;
  float4 sums = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < kUnitPacks; ++i) {
    const float4& x = packs.x[i];
    sums.x += __expf(x.x - shift);
    sums.y += __expf(x.y - shift);
    sums.z += __expf(x.z - shift);
    sums.w += __expf(x.w - shift);
  }
  const float sum = warp_sum((sums.x + sums.z) + (sums.y + sums.w));
  if (is_empty && sum == 0.0f) return {kLowest, 0.0f};
  return {shift, sum};
}

template <bool is_aligned>
__device__ __forceinline__ UnitState unit_state(const float* row, std::int64_t unit,
                                                std::int64_t columns, int lane) {
  return unit_state(load_unit<is_aligned>(row, unit, columns, lane));
}

/// The largest number of a row's units, in every lane of the warp; `state_of(unit)` is a unit's
/// state.
template <class StateOf>
__device__ __forceinline__ float max_of_units(std::int64_t units, int lane,
                                              const StateOf& state_of) {
  float max = kLowest;
  for (std::int64_t unit = lane; unit < units; unit += kWarpSize)
    max = fmaxf(max, state_of(unit).max);
  return warp_max(max);
}

/// The log-sum-exp of units, in every lane of the warp.
template <class StateOf>
__device__ __forceinline__ float merge_units(std::int64_t units, int lane,
                                             const StateOf& state_of) {
  const float max = max_of_units(units, lane, state_of);
  float sum = 0.0f;
  for (std::int64_t unit = lane; unit < units; unit += kWarpSize) {
    const UnitState state = state_of(unit);
    if (state.max != kLowest) sum = fmaf(state.sum, __expf(state.max - max), sum);
  }
  return max + logf(warp_sum(sum));
}

}  // namespace parhelion::exec::cuda
