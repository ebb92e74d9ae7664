#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/log_sum_exp.cuh"
#include "exec/cuda/kernels/top_keys.cuh"
#include "exec/cuda/kernels/top_log_probabilities.h"

#include <cooperative_groups.h>

namespace parhelion::exec::cuda {
namespace {

constexpr int kTopBlocks = 8;     // blocks of one cluster, which share a row
constexpr int kTopThreads = 320;  // so that 149 units are two rounds of a cluster's warps
constexpr int kTopBlockWarps = kTopThreads / kWarpSize;
constexpr int kTopWarps = kTopBlocks * kTopBlockWarps;

/// One block's lists: of its warps, then its own.
struct TopShared {
  LogitKey of_warp[kTopBlockWarps][kWarpSize];
  LogitKey of_block[kWarpSize];
};

/// One row, and this thread's place in the cluster that works on it.
struct TopRow {
  const float* row;
  std::int64_t columns;
  std::int64_t units;
  UnitState* states;  ///< this block's units: unit u is number u / kTopBlocks of block u % ..
  TopShared* shared;
  cooperative_groups::cluster_group cluster;
  int lane;
  int warp;  ///< in the cluster
  bool is_aligned;

  __device__ UnitState state_of(std::int64_t unit) const {
    return *cluster.map_shared_rank(states + unit / kTopBlocks,
                                    static_cast<unsigned>(unit % kTopBlocks));
  }
  __device__ float4 load(std::int64_t column) const {
    return is_aligned ? load_columns<true>(row, column, columns)
                      : load_columns<false>(row, column, columns);
  }
};

__device__ void fill_states(const TopRow& row) {
  for (std::int64_t unit = row.warp; unit < row.units; unit += kTopWarps) {
    const UnitState state = row.is_aligned
                                ? unit_state<true>(row.row, unit, row.columns, row.lane)
                                : unit_state<false>(row.row, unit, row.columns, row.lane);
    if (row.lane == 0) row.states[unit / kTopBlocks] = state;
  }
}

/// A key that none of the `count` largest logits is below: the largest logits of `count` units are
/// as large as the smallest of them. 0 where there are not so many units.
__device__ LogitKey lower_bound(const TopRow& row, int count) {
  TopKeys largest;
  for (std::int64_t first = 0; first < row.units; first += kWarpSize) {
    const std::int64_t unit = first + row.lane;
    largest.show(unit < row.units ? logit_key(row.state_of(unit).max, unit) : 0, row.lane);
  }
  return largest.at(count - 1) >> 32 << 32;
}

/// Shows the logits of a unit that are not below `bound`.
__device__ void show_unit(const TopRow& row, std::int64_t unit, LogitKey bound, TopKeys& top) {
  for (int i = 0; i < kUnitPacks; ++i) {
    const std::int64_t column = unit_column(unit, i, row.lane);
    const float4 x = row.load(column);
    const float each[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const LogitKey key = column + j < row.columns ? logit_key(each[j], column + j) : 0;
      top.show(key >= bound ? key : 0, row.lane);
    }
  }
}

/// The largest keys of the row, in the first warp of the cluster.
__device__ TopKeys top_keys(const TopRow& row, int count) {
  const LogitKey bound = lower_bound(row, count);
  TopKeys top;
  for (std::int64_t unit = row.warp; unit < row.units; unit += kTopWarps)
    if (logit_key(row.state_of(unit).max, 0) >= bound) show_unit(row, unit, bound, top);
  const int local_warp = static_cast<int>(threadIdx.x) / kWarpSize;
  row.shared->of_warp[local_warp][row.lane] = top.own();
  __syncthreads();
  if (local_warp == 0) {
    for (int other = 1; other < kTopBlockWarps; ++other)
      top.show(row.shared->of_warp[other][row.lane], row.lane);
    row.shared->of_block[row.lane] = top.own();
  }
  row.cluster.sync();
  if (row.warp == 0) {
    for (unsigned block = 1; block < kTopBlocks; ++block)
      top.show(row.cluster.map_shared_rank(row.shared, block)->of_block[row.lane], row.lane);
  }
  return top;
}

__device__ void store_place(const TopLogProbabilities& args, std::int64_t r, const TopRow& row,
                            LogitKey key, float lse) {
  if (row.lane >= args.count) return;
  const std::int64_t at = r * args.count + row.lane;
  const std::int64_t id = id_of_key(key);
  args.ids[at] = key == 0 ? -1 : static_cast<std::int32_t>(id);
  args.log_probability[at] = key == 0 ? kLowest : row.row[id] - lse;
}

// One row a cluster of 8 blocks, a unit of 1024 columns a warp, unit u in block u % 8.
// Traffic: reads the logits once from DRAM; units that hold one of the largest again from the L2.
__global__ void __cluster_dims__(kTopBlocks, 1, 1) __launch_bounds__(kTopThreads)
    top_log_probabilities_kernel(TopLogProbabilities args) {
  wait_for_inputs();
  extern __shared__ UnitState top_states[];
  __shared__ TopShared shared;
  const auto cluster = cooperative_groups::this_cluster();
  const std::int64_t r = blockIdx.x / kTopBlocks;
  const int local_warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const TopRow row{.row = args.logits + r * args.vocabulary,
                   .columns = args.vocabulary,
                   .units = unit_count(args.vocabulary),
                   .states = top_states,
                   .shared = &shared,
                   .cluster = cluster,
                   .lane = static_cast<int>(threadIdx.x) % kWarpSize,
                   .warp = local_warp * kTopBlocks + static_cast<int>(cluster.block_rank()),
                   .is_aligned = args.vocabulary % 4 == 0};
  fill_states(row);
  row.cluster.sync();
  const float lse =
      merge_units(row.units, row.lane, [&](std::int64_t unit) { return row.state_of(unit); });
  LogitKey key = 0;
  if (isfinite(lse)) key = top_keys(row, static_cast<int>(args.count)).own();  // as one cluster
  if (row.warp == 0) store_place(args, r, row, key, lse);
  row.cluster.sync();  // no block ends while another reads its memory
}

}  // namespace

void top_log_probabilities(const TopLogProbabilities& args, cudaStream_t stream) {
  if (args.rows == 0) return;
  const std::int64_t states = (unit_count(args.vocabulary) + kTopBlocks - 1) / kTopBlocks;
  const LaunchGrid grid{.blocks = static_cast<unsigned>(args.rows * kTopBlocks),
                        .threads = kTopThreads,
                        .shared_bytes = static_cast<std::size_t>(states) * sizeof(UnitState)};
  launch("top_log_probabilities", top_log_probabilities_kernel, grid, stream, args);
}

}  // namespace parhelion::exec::cuda
