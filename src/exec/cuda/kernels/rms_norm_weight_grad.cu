#include "exec/cuda/kernels/fold_blocks.h"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/rms_norm.h"
#include "exec/cuda/kernels/rms_norm_sums.cuh"

namespace parhelion::exec::cuda {
namespace {

constexpr std::int64_t kAnyFoldedRows = 64;

// Sums of dy * round(x * rstd) over blocks of rows, a row in the registers of Shape::kThreads,
// which keep the sums of their columns. Traffic: reads x and dy once, writes partial. Needs:   rows
// of whole packs, aligned to 16 bytes. Accumulates in f32.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::kBlock)
    rms_norm_weight_grad_kernel(const T* x,      // [rows, packs]
                                const T* dy,     // [rows, packs]
                                float* partial,  // [blocks, packs]
                                std::int64_t rows, int packs, float eps, const bool* gate) {
  wait_for_inputs();
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
  store_sums<T, Shape>(sum, partial + blockIdx.x * cols, packs);
}

// rstd of rows of any width, one block per row.
template <class T>
__global__ void __launch_bounds__(kAnyRowThreads)
    rms_norm_rstd_kernel(const T* x, float* rstd, std::int64_t cols, float eps) {
  wait_for_inputs();
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
  wait_for_inputs();
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
  if (has_row_shape<T>(args.cols)) return folded_blocks_of<T>(args.rows, args.cols);
  return (args.rows + kAnyFoldedRows - 1) / kAnyFoldedRows;
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
