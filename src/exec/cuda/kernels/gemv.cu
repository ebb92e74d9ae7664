#include "exec/cuda/kernels/gemv.h"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/silu.cuh"

#include <algorithm>
#include <type_traits>

namespace parhelion::exec::cuda {
namespace {

constexpr int kGemvWarps = 4;
constexpr int kGemvThreads = kGemvWarps * kWarpSize;
constexpr int kPackNumbers = 8;  // bf16 numbers of 16 bytes

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

// y = w x for each part, one warp per output. The first weights are asked for before the kernel
// ahead, which makes x, has ended; nothing else is read or written until then. Traffic: reads w
// once, x once per block from the L2. Needs:   k % 8 == 0, 16-byte aligned rows.  Accumulates in
// f32.
template <int steps, class Y>
__global__ void __launch_bounds__(kGemvThreads)
    gemv_kernel(const __grid_constant__ GemvParts<Y> parts, const uint4* x, int packs) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  cudaTriggerProgrammaticLaunchCompletion();
  int row = gemv_row();
  if (row >= parts.end[parts.count - 1]) return;
  int part = 0;
  while (row >= parts.end[part]) ++part;
  if (part > 0) row -= parts.end[part - 1];
  const uint4* weights = parts.w[part] + std::int64_t{row} * packs;
  WeightPacks<steps> loaded;
  loaded.load(weights, lane, packs);
  cudaGridDependencySynchronize();
  float sum = loaded.dot(x, lane, packs, 0.0f);
  for (int first = lane + steps * kWarpSize; first - lane < packs; first += steps * kWarpSize) {
    loaded.load(weights, first, packs);
    sum = loaded.dot(x, first, packs, sum);
  }
  sum = warp_sum(sum);
  if (lane == 0) parts.y[part][row] = from_float<Y>(sum);
}

// As gemv_kernel with two rows of weights a warp, and swiglu of their products.
template <int steps>
__global__ void __launch_bounds__(kGemvThreads)
    gate_up_gemv_kernel(const uint4* gate, const uint4* up, const uint4* x, __nv_bfloat16* y, int n,
                        int packs) {
  const int row = gemv_row();
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  cudaTriggerProgrammaticLaunchCompletion();
  if (row >= n) return;
  const uint4* gates = gate + std::int64_t{row} * packs;
  const uint4* ups = up + std::int64_t{row} * packs;
  WeightPacks<steps> loaded_gate, loaded_up;
  loaded_gate.load(gates, lane, packs);
  loaded_up.load(ups, lane, packs);
  cudaGridDependencySynchronize();
  float gate_sum = loaded_gate.dot(x, lane, packs, 0.0f);
  float up_sum = loaded_up.dot(x, lane, packs, 0.0f);
  for (int first = lane + steps * kWarpSize; first - lane < packs; first += steps * kWarpSize) {
    loaded_gate.load(gates, first, packs);
    loaded_up.load(ups, first, packs);
    gate_sum = loaded_gate.dot(x, first, packs, gate_sum);
    up_sum = loaded_up.dot(x, first, packs, up_sum);
  }
  const float gate_value = round_to<__nv_bfloat16>(warp_sum(gate_sum));
  const float up_value = round_to<__nv_bfloat16>(warp_sum(up_sum));
  if (lane == 0) y[row] = from_float<__nv_bfloat16>(swiglu_of<__nv_bfloat16>(gate_value, up_value));
}

unsigned gemv_blocks(std::int64_t rows) { return block_count(rows, kGemvWarps); }

/// Calls body with the fewest steps that cover a row in one trip, else with the most.
template <int... steps, class Body>
void with_steps(int packs, const Body& body) {
  constexpr int kMost = std::max({steps...});
  const int wanted = (packs + kWarpSize - 1) / kWarpSize;
  const bool found =
      (... || (wanted <= steps && (body(std::integral_constant<int, steps>{}), true)));
  if (!found) body(std::integral_constant<int, kMost>{});
}

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

}  // namespace

void gemvs(std::span<const Gemv> args, cudaStream_t stream) {
  const auto packs = static_cast<int>(args.front().k / kPackNumbers);
  with_steps<4, 8, 12, 16>(packs, [&](auto steps) {
    with_type(args.front().y_kind, [&](auto y) {
      using Y = decltype(y);
      const GemvParts<Y> parts = parts_of<Y>(args);
      launch("gemv", gemv_kernel<decltype(steps)::value, Y>,
             gemv_blocks(parts.end[parts.count - 1]), kGemvThreads, stream, parts,
             static_cast<const uint4*>(args.front().x), packs);
    });
  });
}

void gemv(const Gemv& args, cudaStream_t stream) { gemvs({&args, 1}, stream); }

void gate_up_gemv(const GateUpGemv& args, cudaStream_t stream) {
  const auto packs = static_cast<int>(args.k / kPackNumbers);
  with_steps<4, 8>(packs, [&](auto steps) {
    launch("gate_up_gemv", gate_up_gemv_kernel<decltype(steps)::value>, gemv_blocks(args.n),
           kGemvThreads, stream, static_cast<const uint4*>(args.gate),
           static_cast<const uint4*>(args.up), static_cast<const uint4*>(args.x),
           static_cast<__nv_bfloat16*>(args.y), static_cast<int>(args.n), packs);
  });
}

}  // namespace parhelion::exec::cuda
