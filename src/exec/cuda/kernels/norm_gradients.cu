#include "exec/cuda/kernels/fold_blocks.h"
#include "exec/cuda/kernels/head_turn.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/norm_gradients.h"
#include "exec/cuda/kernels/packed_row.cuh"
#include "exec/cuda/kernels/rms_norm_row.cuh"
#include "exec/cuda/kernels/rms_norm_sums.cuh"

namespace parhelion::exec::cuda {
namespace {

/// Rows that a thread group fetches together: what its registers hold beside the sums.
template <class Shape>
inline constexpr int kRowsAhead = Shape::kPacks == 4 ? 1 : 2;

/// Blocks that a multiprocessor holds at once: enough bytes in flight, and one wave of large grids.
template <class Shape>
inline constexpr int kResidentBlocks = Shape::kBlock > 128  ? 1
                                       : Shape::kPacks == 1 ? 8
                                                            : 4;

/// This thread's packs of the rows that one row of dx is made of.
template <class T, class Shape, bool adds>
struct GradientRow {
  PackedRow<T, Shape> x, dy, rest;

  __device__ __forceinline__ void load(const NormGradients& args, std::int64_t row, int packs) {
    const bool live = row < args.rows;
    const std::int64_t at = row * packs * Pack<T>::kCount;
    x.load(static_cast<const T*>(args.x) + at, packs, live);
    dy.load(static_cast<const T*>(args.dy) + at, packs, live);
    const bool has_rest = adds && args.rest != nullptr;
    rest.load(static_cast<const T*>(args.rest) + (has_rest ? at : 0), packs, live && has_rest);
  }
};

template <class T, class Shape>
__device__ __forceinline__ float rstd_of(PackedRow<T, Shape>& row, std::int64_t cols, float eps,
                                         float* scratch) {
  Pack<T> x[Shape::kPacks];
  row.open(x);
  return rms_norm_rstd(row_sum<Shape>(square_sum<Shape>(x), scratch), cols, eps);
}

template <class T, class Shape, bool adds>
__device__ __forceinline__ float dot_of(GradientRow<T, Shape, adds>& row,
                                        PackedRow<T, Shape>& weight, float* scratch) {
  Pack<T> x[Shape::kPacks], w[Shape::kPacks], dy[Shape::kPacks];
  row.x.open(x);
  row.dy.open(dy);
  weight.open(w);
  return row_sum<Shape>(slope_sum<Shape>(x, w, dy), scratch);
}

template <class T, class Shape, bool adds>
__device__ __forceinline__ void store_dx(const NormGradients& args,
                                         GradientRow<T, Shape, adds>& row,
                                         PackedRow<T, Shape>& weight, T* dx, int packs, float rstd,
                                         float slope) {
  Pack<T> x[Shape::kPacks], w[Shape::kPacks], dy[Shape::kPacks], rest[Shape::kPacks];
  row.x.open(x);
  row.dy.open(dy);
  if constexpr (adds) row.rest.open(rest);
  weight.open(w);
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
    Pack<T> result;
#pragma unroll
    for (int e = 0; e < Pack<T>::kCount; ++e)
      result.at[e] = rms_norm_dx(x[i].at[e], w[i].at[e], dy[i].at[e], rstd, slope);
    if (adds && args.rest != nullptr) result = sum_of(rest[i], result);
    if (at < packs) reinterpret_cast<Pack<T>*>(dx)[at] = result;
  }
}

template <class T, class Shape, bool adds>
__device__ __forceinline__ void add_to_sums(GradientRow<T, Shape, adds>& row, float rstd,
                                            float (&sum)[Shape::kPacks][Pack<T>::kCount]) {
  Pack<T> x[Shape::kPacks], dy[Shape::kPacks];
  row.x.open(x);
  row.dy.open(dy);
  add_products<T, Shape>(x, dy, rstd, sum);
}

template <class T, class Shape>
__device__ __forceinline__ void turn_row(PackedRow<T, Shape>& row, RowTurner<T, Shape>& turner,
                                         bool live) {
  Pack<T> pack[Shape::kPacks];
  row.open(pack);
  row.set(0, turner.next(pack[0], live));
}

// dx and the sums of a block of rows, a row in the registers of Shape::kThreads, which keep the
// sums of their columns.
// Traffic: reads x, dy and rest once, writes dx and partial; w and angles come from the caches.
// Needs:   rows of whole packs, aligned to 16 bytes. Accumulates in f32.
template <class T, class Shape, bool turns>
__global__ void __launch_bounds__(Shape::kBlock, kResidentBlocks<Shape>)
    norm_gradients_kernel(const __grid_constant__ NormGradients args,
                          float* partial,  // [blocks, packs], null: no gradient of w
                          int packs) {
  wait_for_inputs();
  __shared__ float scratch[kWarpSize];
  const std::int64_t cols = static_cast<std::int64_t>(packs) * Pack<T>::kCount;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kFoldedBlock<Shape> +
                             row_slot<Shape>() * kFoldedRows<Shape>;
  PackedRow<T, Shape> w;
  w.load(static_cast<const T*>(args.w), packs, true);
  float sum[Shape::kPacks][Pack<T>::kCount] = {};
  RowTurner<T, Shape> turner(args.turn, turns ? first : 0, packs);
  for (int i = 0; i < kFoldedRows<Shape>; i += kRowsAhead<Shape>) {
    GradientRow<T, Shape, !turns> rows[kRowsAhead<Shape>];  // turned rows are added to nothing
#pragma unroll
    for (int k = 0; k < kRowsAhead<Shape>; ++k) rows[k].load(args, first + i + k, packs);
#pragma unroll
    for (int k = 0; k < kRowsAhead<Shape>; ++k) {
      const std::int64_t row = first + i + k;
      const bool live = row < args.rows;
      if constexpr (turns) turn_row(rows[k].dy, turner, live);
      const float rstd = rstd_of(rows[k].x, cols, args.eps, scratch);
      const float slope = rstd * rstd * (dot_of(rows[k], w, scratch) / static_cast<float>(cols));
      if (!live) continue;
      store_dx(args, rows[k], w, static_cast<T*>(args.dx) + row * cols, packs, rstd, slope);
      if (partial != nullptr) add_to_sums(rows[k], rstd, sum);
    }
  }
  if (partial != nullptr) store_sums<T, Shape>(sum, partial + blockIdx.x * cols, packs);
}

template <class T, class Shape>
void start_norm_gradients(const NormGradients& args, float* partial, int packs,
                          cudaStream_t stream) {
  const unsigned blocks = block_count(args.rows, kFoldedBlock<Shape>);
  if (args.turn.positions == nullptr) {
    launch("norm_gradients", norm_gradients_kernel<T, Shape, false>, blocks, Shape::kBlock, stream,
           args, partial, packs);
    return;
  }
  if constexpr (Shape::kPacks == 1) {
    launch("norm_gradients.turned", norm_gradients_kernel<T, Shape, true>, blocks, Shape::kBlock,
           stream, args, partial, packs);
  }
}

}  // namespace

void norm_gradients(const NormGradients& args, std::byte* workspace, cudaStream_t stream) {
  auto* partial = args.acc == nullptr ? nullptr : reinterpret_cast<float*>(workspace);
  std::int64_t blocks = 0;
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    const std::int64_t packs = args.cols / Pack<T>::kCount;
    blocks = folded_blocks_of<T>(args.rows, args.cols);
    with_row_shape(packs, [&](auto shape) {
      start_norm_gradients<T, decltype(shape)>(args, partial, static_cast<int>(packs), stream);
    });
  });
  if (args.acc == nullptr) return;
  fold_blocks({.partial = partial, .acc = args.acc, .blocks = blocks, .cols = args.cols}, stream);
}

std::int64_t norm_gradients_workspace(ir::Kind kind, std::int64_t rows, std::int64_t cols) {
  std::int64_t blocks = 0;
  with_type(kind, [&](auto type) { blocks = folded_blocks_of<decltype(type)>(rows, cols); });
  return blocks * cols * static_cast<std::int64_t>(sizeof(float));
}

bool has_norm_gradients(ir::Kind kind, std::int64_t cols) {
  bool result = false;
  with_type(kind, [&](auto type) { result = cols > 0 && has_row_shape<decltype(type)>(cols); });
  return result;
}

}  // namespace parhelion::exec::cuda
