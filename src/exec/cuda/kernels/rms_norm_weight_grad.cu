#include "exec/cuda/kernels/fold_blocks.h"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/rms_norm.h"
#include "exec/cuda/kernels/row_shape.cuh"

namespace parhelion::exec::cuda {
namespace {

/// Rows that one group of threads folds: enough that sums of blocks are few beside x and dy.
template <class Shape>
inline constexpr int kFoldedRows = Shape::kPacks == 4 && Shape::kThreads == kWarpSize ? 8 : 32;

/// Rows of a block.
template <class Shape>
inline constexpr int kFoldedBlock = kFoldedRows<Shape>* Shape::kRows;

constexpr std::int64_t kAnyFoldedRows = 64;

std::int64_t blocks_of(std::int64_t rows, std::int64_t block) { return (rows + block - 1) / block; }

/// sum += dy * round(x * rstd) over this thread's packs.
template <class T, class Shape>
__device__ __forceinline__ void add_products(const Pack<T> (&x)[Shape::kPacks],
                                             const Pack<T> (&dy)[Shape::kPacks], float rstd,
                                             float (&sum)[Shape::kPacks][Pack<T>::kCount]) {
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
#pragma unroll
    for (int e = 0; e < Pack<T>::kCount; ++e) {
      const float unit = to_float(from_float<T>(to_float(x[i].at[e]) * rstd));
      sum[i][e] = fmaf(to_float(dy[i].at[e]), unit, sum[i][e]);
    }
  }
}

/// Writes the sums of the one row of threads that a block has.
template <class T, class Shape>
__device__ __forceinline__ void store_own_sums(const float (&sum)[Shape::kPacks][Pack<T>::kCount],
                                               float* partial, int packs) {
  constexpr int kCount = Pack<T>::kCount;
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
    if (at >= packs) continue;
#pragma unroll
    for (int e = 0; e < kCount; e += 4) {
      *reinterpret_cast<float4*>(partial + at * kCount + e) =
          make_float4(sum[i][e], sum[i][e + 1], sum[i][e + 2], sum[i][e + 3]);
    }
  }
}

/// Writes the sums of a block's rows of threads, added ascending.
template <class T, class Shape>
__device__ __forceinline__ void store_added_sums(const float (&sum)[Shape::kPacks][Pack<T>::kCount],
                                                 float* partial, int packs) {
  constexpr int kCount = Pack<T>::kCount;
  __shared__ float sums[Shape::kRows][Shape::kThreads * Shape::kPacks * kCount];
#pragma unroll
  for (int i = 0; i < Shape::kPacks; ++i) {
    const int at = row_lane<Shape>() + i * Shape::kThreads;
#pragma unroll
    for (int e = 0; e < kCount; ++e) sums[row_slot<Shape>()][at * kCount + e] = sum[i][e];
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < packs * kCount; c += Shape::kBlock) {
    float total = 0.0f;
#pragma unroll
    for (int slot = 0; slot < Shape::kRows; ++slot) total += sums[slot][c];
    partial[c] = total;
  }
}

// Sums of dy * round(x * rstd) over blocks of rows, a row in the registers of Shape::kThreads,
// which keep the sums of their columns. Traffic: reads x and dy once, writes partial. Needs:   rows
// of whole packs, aligned to 16 bytes. Accumulates in f32.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::kBlock)
    rms_norm_weight_grad_kernel(const T* __restrict__ x,      // [rows, packs]
                                const T* __restrict__ dy,     // [rows, packs]
                                float* __restrict__ partial,  // [blocks, packs]
                                std::int64_t rows, int packs, float eps, const bool* gate) {
  __shared__ float scratch[kWarpSize];
  if (gate != nullptr && !*gate) return;
  const std::int64_t cols = static_cast<std::int64_t>(packs) * Pack<T>::kCount;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kFoldedBlock<Shape> +
                             row_slot<Shape>() * kFoldedRows<Shape>;
  float sum[Shape::kPacks][Pack<T>::kCount] = {};
  for (int i = 0; i < kFoldedRows<Shape>; ++i) {
    const std::int64_t row = first + i;
    const bool live = row < rows;
    Pack<T> held[Shape::kPacks], given[Shape::kPacks];
    load_row<Shape>(x + row * cols, packs, live, held);
    load_row<Shape>(dy + row * cols, packs, live, given);
    const float squares = row_sum<Shape>(square_sum<Shape>(held), scratch);
    if (live) add_products<T, Shape>(held, given, rms_norm_rstd(squares, cols, eps), sum);
  }
  if constexpr (Shape::kRows == 1) {
    store_own_sums<T, Shape>(sum, partial + blockIdx.x * cols, packs);
  } else {
    store_added_sums<T, Shape>(sum, partial + blockIdx.x * cols, packs);
  }
}

// rstd of rows of any width, one block per row.
template <class T>
__global__ void __launch_bounds__(kAnyRowThreads)
    rms_norm_rstd_kernel(const T* x, float* rstd, std::int64_t cols, float eps) {
  __shared__ float scratch[kWarpSize];
  const std::int64_t row = blockIdx.x;
  const float result = any_row_rstd(x + row * cols, cols, eps, scratch);
  if (threadIdx.x == 0) rstd[row] = result;
}

// The same sums for rows of any width: a thread per column and block of rows.
template <class T>
__global__ void __launch_bounds__(kAnyRowThreads)
    rms_norm_weight_grad_any_kernel(const T* x, const T* dy, const float* rstd, float* partial,
                                    std::int64_t rows, std::int64_t cols) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.y) * kAnyRowThreads + threadIdx.x;
  if (c >= cols) return;
  const std::int64_t first = blockIdx.x * kAnyFoldedRows;
  const std::int64_t end = min(rows, first + kAnyFoldedRows);
  float sum = 0.0f;
  for (std::int64_t row = first; row < end; ++row) {
    const float unit = to_float(from_float<T>(to_float(x[row * cols + c]) * rstd[row]));
    sum = fmaf(to_float(dy[row * cols + c]), unit, sum);
  }
  partial[blockIdx.x * cols + c] = sum;
}

/// The number of blocks of rows whose sums are folded.
template <class T>
std::int64_t folded_blocks(const RmsNormWeightGrad& args) {
  if (!has_row_shape<T>(args.cols)) return blocks_of(args.rows, kAnyFoldedRows);
  std::int64_t result = 0;
  with_row_shape(args.cols / Pack<T>::kCount,
                 [&](auto shape) { result = blocks_of(args.rows, kFoldedBlock<decltype(shape)>); });
  return result;
}

template <class T>
void start_any(const RmsNormWeightGrad& args, float* partial, float* rstd, cudaStream_t stream) {
  const auto* x = static_cast<const T*>(args.x);
  launch("rms_norm_rstd.any", rms_norm_rstd_kernel<T>, block_count(args.rows, 1), kAnyRowThreads,
         stream, x, rstd, args.cols, args.eps);
  const dim3 blocks(block_count(args.rows, kAnyFoldedRows), block_count(args.cols, kAnyRowThreads));
  launch("rms_norm_weight_grad.any", rms_norm_weight_grad_any_kernel<T>, blocks, kAnyRowThreads,
         stream, x, static_cast<const T*>(args.dy), rstd, partial, args.rows, args.cols);
}

template <class T>
void start_weight_grad(const RmsNormWeightGrad& args, std::byte* workspace, cudaStream_t stream) {
  auto* partial = reinterpret_cast<float*>(workspace);
  const std::int64_t blocks = folded_blocks<T>(args);
  if (!has_row_shape<T>(args.cols)) {
    start_any<T>(args, partial, partial + blocks * args.cols, stream);
  } else {
    const std::int64_t packs = args.cols / Pack<T>::kCount;
    with_row_shape(packs, [&](auto shape) {
      using Shape = decltype(shape);
      launch("rms_norm_weight_grad", rms_norm_weight_grad_kernel<T, Shape>,
             block_count(args.rows, kFoldedBlock<Shape>), Shape::kBlock, stream,
             static_cast<const T*>(args.x), static_cast<const T*>(args.dy), partial, args.rows,
             static_cast<int>(packs), args.eps, args.gate);
    });
  }
  fold_blocks(
      {.partial = partial, .acc = args.acc, .blocks = blocks, .cols = args.cols, .gate = args.gate},
      stream);
}

}  // namespace

std::int64_t rms_norm_weight_grad_workspace(const RmsNormWeightGrad& args) {
  std::int64_t floats = 0;
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    floats = folded_blocks<T>(args) * args.cols + (has_row_shape<T>(args.cols) ? 0 : args.rows);
  });
  return floats * static_cast<std::int64_t>(sizeof(float));
}

void rms_norm_weight_grad(const RmsNormWeightGrad& args, std::byte* workspace,
                          cudaStream_t stream) {
  with_type(args.kind,
            [&](auto type) { start_weight_grad<decltype(type)>(args, workspace, stream); });
}

}  // namespace parhelion::exec::cuda
