#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/philox.cuh"
#include "exec/cuda/kernels/sampling.h"
#include "exec/cuda/kernels/sampling_row.cuh"

namespace parhelion::exec::cuda {
namespace {

constexpr std::uint64_t kSampleTag = 0x73616d706c65;
constexpr Mass kAllMass = ~Mass{0};

/// parhelion::uniform of the row's draw.
__device__ float sample_uniform(std::uint64_t seed, std::uint64_t offset) {
  return static_cast<float>(philox(seed, offset, kSampleTag).x >> 8) * 0x1p-24f;
}

/// Counts and masses of the candidates whose key begins with `prefix`, by their next digit.
__device__ void fill_bins(const SampleRow& row, const SampleFilter& filter, LogitKey prefix,
                          int shift) {
  for (int bin = static_cast<int>(threadIdx.x); bin < kSampleBins; bin += kSampleThreads) {
    row.shared->counts[bin] = 0;
    row.shared->masses[bin] = 0;
  }
  __syncthreads();
  for (std::int64_t unit = row.warp; unit < row.units; unit += kSampleWarps) {
    row.for_columns(unit, [&](float x, std::int64_t id) {
      const LogitKey key = logit_key(x, id);
      Mass mass = 0;
      if (key >> shift >> kSampleDigit != prefix || !is_candidate(filter, x, id, mass)) return;
      const auto bin = static_cast<int>(key >> shift) & (kSampleBins - 1);
      atomicAdd(&row.shared->counts[bin], 1u);
      atomicAdd(&row.shared->masses[bin], mass);
    });
  }
}

/// What a prefix holds, and what is enough.
struct SamplePrefix {
  Mass enough_count;
  Mass enough_mass;
  Mass count = 0;
  Mass mass = 0;

  __device__ bool is_enough(Mass more_count, Mass more_mass) const {
    return count + more_count >= enough_count || mass + more_mass >= enough_mass;
  }
};

/// Bins of all blocks added up; bins of a lane descend, and those of later lanes are smaller.
constexpr int kLaneBins = kSampleBins / kWarpSize;

/// The bin in which the prefix ends. For one warp of each block.
__device__ void find_bin(const SampleRow& row, const SamplePrefix& prefix) {
  unsigned counts[kLaneBins] = {};
  Mass masses[kLaneBins] = {};
  unsigned count = 0;
  Mass mass = 0;
  const int first = kSampleBins - 1 - row.lane * kLaneBins;
  for (unsigned block = 0; block < kSampleBlocks; ++block) {
    const SampleShared* other = row.cluster.map_shared_rank(row.shared, block);
    for (int i = 0; i < kLaneBins; ++i) {
      counts[i] += other->counts[first - i];
      masses[i] += other->masses[first - i];
    }
  }
  for (int i = 0; i < kLaneBins; ++i) {
    count += counts[i];
    mass += masses[i];
  }
  SampleBin found{.bin = -1,
                  .count = 0,
                  .count_before = warp_before(count, row.lane),
                  .mass_before = warp_before(mass, row.lane)};
  for (int i = 0; i < kLaneBins && found.bin < 0; ++i) {
    if (counts[i] != 0 &&
        prefix.is_enough(found.count_before + counts[i], found.mass_before + masses[i])) {
      found.bin = first - i;
      found.count = counts[i];
    } else {
      found.count_before += counts[i];
      found.mass_before += masses[i];
    }
  }
  const unsigned finders = __ballot_sync(0xffffffffu, found.bin >= 0);
  const int finder = finders == 0 ? 0 : __ffs(static_cast<int>(finders)) - 1;
  if (row.lane == finder) row.shared->found = found;
}

/// The smallest key of the fewest candidates, in descending order, that are enough by count or
/// mass; the filter's own limit if all are not enough.
__device__ LogitKey select_limit(const SampleRow& row, const SampleFilter& filter,
                                 SamplePrefix prefix) {
  LogitKey key = 0;
  for (int shift = 64 - kSampleDigit;; shift -= kSampleDigit) {
    fill_bins(row, filter, key, shift);
    row.cluster.sync();
    if (threadIdx.x < kWarpSize) find_bin(row, prefix);
    row.cluster.sync();  // all have read the bins, and this block's `found` is written
    const SampleBin found = row.shared->found;
    if (found.bin < 0) return filter.limit;
    key = key << kSampleDigit | static_cast<LogitKey>(found.bin);
    prefix.count += found.count_before;
    prefix.mass += found.mass_before;
    if (found.count == 1 || shift == 0) return key << shift;
  }
}

/// Adds the masses of the candidates of each unit; returns their sum.
__device__ Mass fill_masses(const SampleRow& row, const SampleFilter& filter) {
  row.cluster.sync();  // nobody reads the masses of before
  for (std::int64_t unit = row.warp; unit < row.units; unit += kSampleWarps) {
    Mass sum = 0;
    row.for_columns(unit, [&](float x, std::int64_t id) {
      Mass mass = 0;
      if (is_candidate(filter, x, id, mass)) sum += mass;
    });
    sum = warp_total(sum);
    if (row.lane == 0) row.masses[unit / kSampleBlocks] = sum;
  }
  row.cluster.sync();
  Mass total = 0;
  for (std::int64_t unit = row.lane; unit < row.units; unit += kWarpSize)
    total += row.of_unit(row.masses, unit);
  return warp_total(total);
}

/// The first id of a unit whose running mass passes `target`. For one warp.
__device__ std::int64_t draw_in_unit(const SampleRow& row, const SampleFilter& filter,
                                     std::int64_t unit, Mass target) {
  Mass before = 0;
  for (int i = 0; i < kUnitPacks; ++i) {
    const std::int64_t column = unit_column(unit, i, row.lane);
    const float4 x = row.load(column);
    const float each[4] = {x.x, x.y, x.z, x.w};
    Mass masses[4];
    Mass sum = 0;
    for (int j = 0; j < 4; ++j) {
      if (column + j >= row.columns || !is_candidate(filter, each[j], column + j, masses[j]))
        masses[j] = 0;
      sum += masses[j];
    }
    Mass running = before + warp_before(sum, row.lane);
    const unsigned passing = __ballot_sync(0xffffffffu, running + sum > target);
    if (passing != 0) {
      int j = 0;
      while (j < 3 && running + masses[j] <= target) running += masses[j++];
      return __shfl_sync(0xffffffffu, column + j, __ffs(static_cast<int>(passing)) - 1);
    }
    before += warp_total(sum);
  }
  return -1;
}

/// The first id whose running mass passes `target`. For one warp.
__device__ std::int64_t draw_id(const SampleRow& row, const SampleFilter& filter, Mass target) {
  const std::int64_t share = (row.units + kWarpSize - 1) / kWarpSize;
  const std::int64_t begin = min(row.lane * share, row.units);
  const std::int64_t end = min(begin + share, row.units);
  Mass sum = 0;
  for (std::int64_t unit = begin; unit < end; ++unit) sum += row.of_unit(row.masses, unit);
  Mass running = warp_before(sum, row.lane);
  const unsigned passing = __ballot_sync(0xffffffffu, running + sum > target);
  std::int64_t unit = begin;
  while (unit + 1 < end) {
    const Mass mass = row.of_unit(row.masses, unit);
    if (running + mass > target) break;
    running += mass;
    ++unit;
  }
  const int finder = __ffs(static_cast<int>(passing)) - 1;
  unit = __shfl_sync(0xffffffffu, unit, finder);
  running = __shfl_sync(0xffffffffu, running, finder);
  return draw_in_unit(row, filter, unit, target - running);
}

/// The lowest id of the largest logit. For one warp.
__device__ std::int64_t largest_id(const SampleRow& row, float max) {
  std::int64_t id = row.columns;
  for (std::int64_t unit = row.lane; unit < row.units; unit += kWarpSize) {
    if (row.of_unit(row.states, unit).max == max) id = min(id, unit);
  }
  for (int step = kWarpSize / 2; step > 0; step /= 2)
    id = min(id, __shfl_xor_sync(0xffffffffu, id, step));
  const std::int64_t unit = id;
  id = row.columns;
  row.for_columns(unit, [&](float x, std::int64_t column) {
    if (x == max) id = min(id, column);
  });
  for (int step = kWarpSize / 2; step > 0; step /= 2)
    id = min(id, __shfl_xor_sync(0xffffffffu, id, step));
  return id;
}

/// The drawn id, in the first warp of the cluster.
__device__ std::int64_t pick_id(const Sampling& args, std::int64_t r, const SampleRow& row,
                                float max) {
  const std::int32_t top_k = args.top_k[r];
  if (!(args.temperature[r] > 0.0f) || top_k == 1) return row.warp == 0 ? largest_id(row, max) : -1;
  SampleFilter filter{
      .max = max, .temperature = args.temperature[r], .min_p = fminf(args.min_p[r], 1.0f)};
  if (top_k > 0)
    filter.limit = select_limit(
        row, filter, {.enough_count = static_cast<Mass>(top_k), .enough_mass = kAllMass});
  Mass total = fill_masses(row, filter);
  const float top_p = args.top_p[r];
  if (top_p < 1.0f) {
    const double enough = ceil(static_cast<double>(total) * fmax(static_cast<double>(top_p), 0.0));
    filter.limit = select_limit(
        row, filter, {.enough_count = kAllMass, .enough_mass = static_cast<Mass>(enough)});
    total = fill_masses(row, filter);
  }
  if (row.warp != 0) return -1;
  const float draw = sample_uniform(args.seed[r], args.offset[r]);
  return draw_id(row, filter,
                 static_cast<Mass>(static_cast<double>(total) * static_cast<double>(draw)));
}

// One row a cluster of 8 blocks; all passes but the first read the row from the L2.
// Traffic: reads the logits once from DRAM. Each pass is two cluster barriers.
__global__ void __cluster_dims__(kSampleBlocks, 1, 1) __launch_bounds__(kSampleThreads)
    sample_kernel(Sampling args, std::int64_t block_units) {
  wait_for_inputs();
  extern __shared__ Mass unit_memory[];  // [block_units] masses, [block_units] states
  __shared__ SampleShared shared;
  const auto cluster = cooperative_groups::this_cluster();
  const std::int64_t r = blockIdx.x / kSampleBlocks;
  const int local_warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const SampleRow row{.row = args.logits + r * args.vocabulary,
                      .columns = args.vocabulary,
                      .units = unit_count(args.vocabulary),
                      .states = reinterpret_cast<UnitState*>(unit_memory + block_units),
                      .masses = unit_memory,
                      .shared = &shared,
                      .cluster = cluster,
                      .lane = static_cast<int>(threadIdx.x) % kWarpSize,
                      .warp = local_warp * kSampleBlocks + static_cast<int>(cluster.block_rank()),
                      .is_aligned = args.vocabulary % 4 == 0};
  for (std::int64_t unit = row.warp; unit < row.units; unit += kSampleWarps) {
    const UnitState state = row.is_aligned
                                ? unit_state<true>(row.row, unit, row.columns, row.lane)
                                : unit_state<false>(row.row, unit, row.columns, row.lane);
    if (row.lane == 0) row.states[unit / kSampleBlocks] = state;
  }
  row.cluster.sync();
  const auto state_of = [&](std::int64_t unit) { return row.of_unit(row.states, unit); };
  const float lse = merge_units(row.units, row.lane, state_of);
  const float max = max_of_units(row.units, row.lane, state_of);
  const std::int64_t id = isfinite(lse) ? pick_id(args, r, row, max) : -1;
  if (row.warp == 0 && row.lane == 0) {
    args.ids[r] = static_cast<std::int32_t>(id);
    args.log_probability[r] = id < 0 ? kLowest : row.row[id] - lse;
  }
  row.cluster.sync();  // no block ends while another reads its memory
}

}  // namespace

void sample(const Sampling& args, cudaStream_t stream) {
  if (args.rows == 0) return;
  const std::int64_t block_units =
      (unit_count(args.vocabulary) + kSampleBlocks - 1) / kSampleBlocks;
  const LaunchGrid grid{
      .blocks = static_cast<unsigned>(args.rows * kSampleBlocks),
      .threads = kSampleThreads,
      .shared_bytes = static_cast<std::size_t>(block_units) * (sizeof(Mass) + sizeof(UnitState))};
  launch("sample", sample_kernel, grid, stream, args, block_units);
}

}  // namespace parhelion::exec::cuda
