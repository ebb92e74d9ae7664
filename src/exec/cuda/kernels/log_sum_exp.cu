#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/log_sum_exp.cuh"
#include "exec/cuda/kernels/log_sum_exp.h"

#include <cooperative_groups.h>

namespace parhelion::exec::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr int kRowBlocks = 8;     // blocks of one cluster, which share a row
constexpr int kRowThreads = 320;  // so that 149 units are two rounds of a cluster's warps
constexpr int kRowWarps = kRowBlocks * kRowThreads / kWarpSize;

__device__ __forceinline__ void store_columns(float* to, const float4& x) {
  __stcs(reinterpret_cast<float4*>(to), x);
}

__device__ __forceinline__ void store_columns(__nv_bfloat16* to, const float4& x) {
  const __nv_bfloat162 low = __floats2bfloat162_rn(x.x, x.y);
  const __nv_bfloat162 high = __floats2bfloat162_rn(x.z, x.w);
  __stcs(reinterpret_cast<uint2*>(to), make_uint2(*reinterpret_cast<const unsigned*>(&low),
                                                  *reinterpret_cast<const unsigned*>(&high)));
}

/// Stores those of four columns that the row has.
template <bool is_aligned, class T>
__device__ __forceinline__ void store_columns(T* row, std::int64_t column, std::int64_t columns,
                                              const float4& x) {
  if constexpr (is_aligned) {
    if (column < columns) store_columns(row + column, x);
  } else {
    if (column < columns) row[column] = from_float<T>(x.x);
    if (column + 1 < columns) row[column + 1] = from_float<T>(x.y);
    if (column + 2 < columns) row[column + 2] = from_float<T>(x.z);
    if (column + 3 < columns) row[column + 3] = from_float<T>(x.w);
  }
}

/// What the gradient of one row depends on besides its logits.
struct RowSlope {
  float lse;
  float dloss;
  std::int64_t label;  // -1: the row gives zero
};

__device__ __forceinline__ float slope_of(float x, std::int64_t column, const RowSlope& of) {
  const float p = __expf(x - of.lse);
  return __fmul_rn(column == of.label ? p - 1.0f : p, of.dloss);
}

template <bool is_aligned, class T>
__device__ __forceinline__ void store_slopes(const UnitPacks& packs, T* out, std::int64_t unit,
                                             std::int64_t columns, const RowSlope& of) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
#pragma unroll
  for (int i = 0; i < kUnitPacks; ++i) {
    const std::int64_t column = unit_column(unit, i, lane);
    float4 d = make_float4(0, 0, 0, 0);
    if (of.label >= 0) {
      const float4& x = packs.x[i];
      d = make_float4(slope_of(x.x, column, of), slope_of(x.y, column + 1, of),
                      slope_of(x.z, column + 2, of), slope_of(x.w, column + 3, of));
    }
    store_columns<is_aligned>(out, column, columns, d);
  }
}

/// Units `first`, `first` + kRowWarps, .. of a row, for one warp. `kHeld` of them are read once and
/// stay in registers; 0: there may be any number, read each time.
template <bool is_aligned, int kHeld>
struct WarpUnits {
  const float* row;
  std::int64_t columns, first, units;
  int lane;
  UnitPacks held[kHeld > 0 ? kHeld : 1];

  __device__ __forceinline__ void load() {
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      held[i] = load_unit<is_aligned>(row, first + i * kRowWarps, columns, lane);
  }
  /// Calls f(unit, its numbers) for each.
  template <class F>
  __device__ __forceinline__ void each(const F& f) const {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i)
        if (first + i * kRowWarps < units) f(first + i * kRowWarps, held[i]);
    } else {
      for (std::int64_t unit = first; unit < units; unit += kRowWarps)
        f(unit, load_unit<is_aligned>(row, unit, columns, lane));
    }
  }
};

/// Blocks of a multiprocessor. Held units need registers; of units that are not, few rows are in
/// flight, so that their second reading comes from the L2.
constexpr int blocks_at_once(int held) { return held > 0 ? 2 : 3; }

// One row a cluster of 8 blocks, a unit of 1024 columns a warp, unit u in block u % 8.
// Traffic: reads the logits once from DRAM, writes d.
template <bool is_aligned, int kHeld, class T>
__global__ void __cluster_dims__(kRowBlocks, 1, 1)
    __launch_bounds__(kRowThreads, blocks_at_once(kHeld)) logit_rows_kernel(LogitRows args) {
  wait_for_inputs();
  extern __shared__ UnitState own_states[];
  cg::cluster_group cluster = cg::this_cluster();
  const auto rank = static_cast<int>(cluster.block_rank());
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize * kRowBlocks + rank;
  const std::int64_t r = blockIdx.x / kRowBlocks;
  const float* row = args.logits + r * args.cols;
  const std::int64_t units = unit_count(args.cols);
  WarpUnits<is_aligned, kHeld> own{row, args.cols, warp, units, lane, {}};
  own.load();
  const std::int64_t label = args.labels[r];
  const bool is_known = label >= 0 && label < args.cols;
  const float labelled = is_known ? row[label] : 0.0f;  // d may overwrite it
  const bool folds = args.given_lse == nullptr && (is_known || args.lse != nullptr);
  float lse = args.given_lse != nullptr ? args.given_lse[r] : 0.0f;
  if (folds) {
    own.each([&](std::int64_t unit, const UnitPacks& packs) {
      const UnitState state = unit_state(packs);
      if (lane == 0) own_states[unit / kRowBlocks] = state;
    });
    cluster.sync();
    lse = merge_units(units, lane, [&](std::int64_t unit) {
      return *cluster.map_shared_rank(own_states + unit / kRowBlocks,
                                      static_cast<unsigned>(unit % kRowBlocks));
    });
    cluster.barrier_arrive();  // own_states are not read any more
  }
  if (warp == 0 && lane == 0) {
    if (args.lse != nullptr) args.lse[r] = lse;
    if (args.loss != nullptr) args.loss[r] = is_known ? lse - labelled : 0.0f;
    if (args.log_probability != nullptr) args.log_probability[r] = is_known ? labelled - lse : 0.0f;
  }
  if (args.d != nullptr) {
    const RowSlope slope{lse, args.dloss[r], is_known ? label : -1};
    T* out = static_cast<T*>(args.d) + r * args.cols;
    own.each([&](std::int64_t unit, const UnitPacks& packs) {
      store_slopes<is_aligned>(packs, out, unit, args.cols, slope);
    });
  }
  if (folds) cluster.barrier_wait();
}

template <bool is_aligned, int kHeld>
void launch_logit_rows(const LogitRows& args, cudaStream_t stream) {
  const std::int64_t states = (unit_count(args.cols) + kRowBlocks - 1) / kRowBlocks;
  const LaunchGrid grid{.blocks = static_cast<unsigned>(args.rows * kRowBlocks),
                        .threads = kRowThreads,
                        .shared_bytes = static_cast<std::size_t>(states) * sizeof(UnitState)};
  with_type(args.d_kind, [&](auto type) {
    launch("logit_rows", logit_rows_kernel<is_aligned, kHeld, decltype(type)>, grid, stream, args);
  });
}

template <bool is_aligned>
void launch_logit_rows(const LogitRows& args, cudaStream_t stream) {
  constexpr int kHeld = 2;
  if (unit_count(args.cols) <= kHeld * kRowWarps) {
    launch_logit_rows<is_aligned, kHeld>(args, stream);
  } else {
    launch_logit_rows<is_aligned, 0>(args, stream);
  }
}

}  // namespace

void logit_rows(const LogitRows& args, cudaStream_t stream) {
  if (args.rows == 0) return;
  if (args.cols % 4 == 0) {
    launch_logit_rows<true>(args, stream);
  } else {
    launch_logit_rows<false>(args, stream);
  }
}

}  // namespace parhelion::exec::cuda
