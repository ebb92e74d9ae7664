#include "exec/cuda/kernels/gemv_parts.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/normed_gemv.h"
#include "exec/cuda/kernels/rms_norm_row.cuh"
#include "exec/cuda/kernels/silu.cuh"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

using Bf16 = __nv_bfloat16;
using Bf16Pack = Pack<Bf16>;

/// NormedRow as the kernel has it.
struct NormOperands {
  const Bf16* x;
  const Bf16* r;
  const Bf16* w;
  Bf16Pack* s;
  Bf16Pack* y;
  int packs;
  float eps;
};

/// How a row lies over a block of products, where `Shape` says how the norm folds it.
template <class Shape>
using BlockShape =
    RowShape<kGemvThreads, (Shape::kThreads * Shape::kPacks + kGemvThreads - 1) / kGemvThreads>;

/// Packs of the widest row of a shape.
template <class Shape>
inline constexpr int kShapePacks = Shape::kThreads* Shape::kPacks;

/// The sum of squares of the row that lies over the block, folded as the norm alone does. Where a
/// warp folds a row there, each does so here, from `shared`, rather than wait for the first one.
template <class Shape>
__device__ __forceinline__ float block_squares(const Bf16Pack (&held)[BlockShape<Shape>::kPacks],
                                               int packs, uint4* shared, float* scratch) {
  if constexpr (Shape::kThreads == kGemvThreads) {
    return row_sum<Shape>(square_sum<Shape>(held), scratch);
  } else {
    static_assert(BlockShape<Shape>::kPacks == 1);
    const int at = static_cast<int>(threadIdx.x);
    if (at < packs) reinterpret_cast<Bf16Pack*>(shared)[at] = held[0];
    __syncthreads();
    Bf16Pack row[Shape::kPacks];
    load_row<Shape>(reinterpret_cast<const Bf16*>(shared), packs, true, row);
    return row_sum<Shape>(square_sum<Shape>(row), scratch);
  }
}

/// Puts y into `row`, for all threads of the block to read. The first block stores s and y.
template <class Shape>
__device__ __forceinline__ void norm_row(const NormOperands& norm,
                                         const Bf16Pack (&w)[BlockShape<Shape>::kPacks],
                                         uint4* row) {
  using Block = BlockShape<Shape>;
  __shared__ float scratch[kWarpSize];
  __shared__ uint4 sums[Shape::kThreads == kGemvThreads ? 1 : kShapePacks<Shape>];
  Bf16Pack held[Block::kPacks], other[Block::kPacks];
  load_row<Block>(norm.x, norm.packs, true, held);
  load_row<Block>(norm.r, norm.packs, norm.r != nullptr, other);  // beside x, not after it
  if (norm.r != nullptr) {
#pragma unroll
    for (int i = 0; i < Block::kPacks; ++i) held[i] = sum_of(held[i], other[i]);
  }
  const float squares = block_squares<Shape>(held, norm.packs, sums, scratch);
  const float rstd = rms_norm_rstd(squares, std::int64_t{norm.packs} * Bf16Pack::kCount, norm.eps);
#pragma unroll
  for (int i = 0; i < Block::kPacks; ++i) {
    const int at = row_lane<Block>() + i * Block::kThreads;
    if (at >= norm.packs) continue;
    Bf16Pack y;
#pragma unroll
    for (int e = 0; e < Bf16Pack::kCount; ++e) y.at[e] = normed(held[i].at[e], w[i].at[e], rstd);
    reinterpret_cast<Bf16Pack*>(row)[at] = y;
    if (blockIdx.x != 0) continue;
    norm.y[at] = y;
    if (norm.s != nullptr) norm.s[at] = held[i];
  }
  __syncthreads();
}

/// Two rows of weights that follow each other, for each warp; the last may have one.
template <class Y>
struct PairedRows {
  GemvParts<Y> parts;

  __device__ __forceinline__ bool has(int row) const { return row < parts.end[parts.count - 1]; }
  __device__ __forceinline__ const uint4* weights(int pair, int second, int packs) const {
    const int row = 2 * pair + second;
    if (!has(row)) return nullptr;
    const PartRow at = part_row(parts, row);
    return parts.w[at.part] + std::int64_t{at.row} * packs;
  }
  __device__ __forceinline__ void store_row(int row, float sum) const {
    if (!has(row)) return;
    const PartRow at = part_row(parts, row);
    parts.y[at.part][at.row] = from_float<Y>(sum);
  }
  __device__ __forceinline__ void store(int pair, float first, float second) const {
    store_row(2 * pair, first);
    store_row(2 * pair + 1, second);
  }
};

/// A row of each weight of gate_up, for each warp.
struct GateUpRows {
  const uint4* gate;
  const uint4* up;
  Bf16* y;
  int n;

  __device__ __forceinline__ const uint4* weights(int pair, int second, int packs) const {
    if (pair >= n) return nullptr;
    return (second != 0 ? up : gate) + std::int64_t{pair} * packs;
  }
  __device__ __forceinline__ void store(int pair, float first, float second) const {
    if (pair >= n) return;
    y[pair] = from_float<Bf16>(swiglu_of<Bf16>(round_to<Bf16>(first), round_to<Bf16>(second)));
  }
};

// Products of the row that `norm` gives, two rows of weights a warp, so that few blocks norm it.
// The first weights are asked for before the kernel ahead has ended, as in gemv. All threads take
// part in the norm, also those without rows. Traffic: reads weights once, x, r and w once per block
// from the caches; the first block writes s and y. Needs: k % 8 == 0, 16-byte aligned rows.
// Accumulates in f32.
template <class Shape, class Rows>
__global__ void __launch_bounds__(kGemvThreads)
    normed_gemv_kernel(const __grid_constant__ NormOperands norm,
                       const __grid_constant__ Rows rows) {
  constexpr int kSteps = kShapePacks<Shape> <= 4 * kWarpSize ? 4 : 8;
  __shared__ uint4 x[kShapePacks<Shape>];
  cudaTriggerProgrammaticLaunchCompletion();
  const int pair = gemv_row();
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const uint4* first_row = rows.weights(pair, 0, norm.packs);
  const uint4* second_row = rows.weights(pair, 1, norm.packs);
  const int first_packs = first_row != nullptr ? norm.packs : 0;
  const int second_packs = second_row != nullptr ? norm.packs : 0;
  WeightPacks<kSteps> first, second;
  first.load(first_row, lane, first_packs);
  second.load(second_row, lane, second_packs);
  Bf16Pack w[BlockShape<Shape>::kPacks];
  load_row<BlockShape<Shape>>(norm.w, norm.packs, true, w);
  cudaGridDependencySynchronize();
  norm_row<Shape>(norm, w, x);
  float first_sum = first.dot(x, lane, norm.packs, 0.0f);
  float second_sum = second.dot(x, lane, norm.packs, 0.0f);
  for (int at = lane + kSteps * kWarpSize; at - lane < norm.packs; at += kSteps * kWarpSize) {
    first.load(first_row, at, first_packs);
    second.load(second_row, at, second_packs);
    first_sum = first.dot(x, at, norm.packs, first_sum);
    second_sum = second.dot(x, at, norm.packs, second_sum);
  }
  first_sum = warp_sum(first_sum);
  second_sum = warp_sum(second_sum);
  if (lane == 0) rows.store(pair, first_sum, second_sum);
}

NormOperands operands_of(const NormedRow& norm) {
  return {.x = static_cast<const Bf16*>(norm.x),
          .r = static_cast<const Bf16*>(norm.r),
          .w = static_cast<const Bf16*>(norm.w),
          .s = static_cast<Bf16Pack*>(norm.s),
          .y = static_cast<Bf16Pack*>(norm.y),
          .packs = static_cast<int>(norm.k / Bf16Pack::kCount),
          .eps = norm.eps};
}

/// Launches for `pairs` of rows, and for the norm alone where there are none. No row that
/// has_normed_gemv lies wider than a block.
template <class Rows>
void launch_normed(const NormedRow& norm, const Rows& rows, std::int64_t pairs,
                   cudaStream_t stream) {
  const NormOperands operands = operands_of(norm);
  with_row_shape(operands.packs, [&](auto shape) {
    using Shape = decltype(shape);
    if constexpr (Shape::kBlock == kGemvThreads) {
      launch("normed_gemv", normed_gemv_kernel<Shape, Rows>,
             gemv_blocks(std::max<std::int64_t>(pairs, 1)), kGemvThreads, stream, operands, rows);
    }
  });
}

}  // namespace

bool has_normed_gemv(std::int64_t k) {
  if (!has_row_shape<Bf16>(k)) return false;
  bool result = false;
  with_row_shape(k / Bf16Pack::kCount,
                 [&](auto shape) { result = decltype(shape)::kBlock == kGemvThreads; });
  return result;
}

void normed_gemvs(const NormedRow& norm, std::span<const Gemv> args, cudaStream_t stream) {
  with_type(args.front().y_kind, [&](auto type) {
    const PairedRows<decltype(type)> rows{parts_of<decltype(type)>(args)};
    const std::int64_t count = rows.parts.end[rows.parts.count - 1];
    launch_normed(norm, rows, (count + 1) / 2, stream);
  });
}

void normed_gate_up_gemv(const NormedRow& norm, const GateUpGemv& args, cudaStream_t stream) {
  const GateUpRows rows{.gate = static_cast<const uint4*>(args.gate),
                        .up = static_cast<const uint4*>(args.up),
                        .y = static_cast<Bf16*>(args.y),
                        .n = static_cast<int>(args.n)};
  launch_normed(norm, rows, args.n, stream);
}

}  // namespace parhelion::exec::cuda
