#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/fold_blocks.h"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/part.cuh"
#include "exec/cuda/kernels/reduce.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

constexpr int kReduceBlock = 128;              // threads of a block whose warps have rows
constexpr int kWideReduceBlock = 1024;         // threads of a block that has one row
constexpr std::int64_t kNarrowColumns = 1024;  // at most, for a warp

struct SumFold {
  __device__ static float start() { return 0.0f; }
  __device__ static float combine(float a, float b) { return a + b; }
  __device__ static float warp(float x) { return warp_sum(x); }
};

struct MaxFold {
  __device__ static float start() { return -INFINITY; }
  __device__ static float combine(float a, float b) { return fmaxf(a, b); }
  __device__ static float warp(float x) { return warp_max(x); }
};

/// This thread's part of a row, of every `threads`th column.
template <class Fold, int threads>
__device__ __forceinline__ float fold_columns(const float* x, std::int64_t cols, int lane) {
  float part = Fold::start();
#pragma unroll 4
  for (std::int64_t c = lane; c < cols; c += threads) part = Fold::combine(part, x[c]);
  return part;
}

// y[r] = fold of x[r, :], a warp per row.
// Traffic: reads x once.
template <class Fold>
__global__ void __launch_bounds__(kReduceBlock) reduce_kernel(Reduce args, float divisor) {
  wait_for_inputs();
  const std::int64_t row =
      (static_cast<std::int64_t>(blockIdx.x) * kReduceBlock + threadIdx.x) / kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  if (row >= args.rows) return;
  const float part = fold_columns<Fold, kWarpSize>(args.x + row * args.cols, args.cols, lane);
  const float result = Fold::warp(part);
  if (lane == 0) args.y[row] = result / divisor;
}

// The same, a block per row.
// Traffic: reads x once.
template <class Fold>
__global__ void __launch_bounds__(kWideReduceBlock) reduce_wide_kernel(Reduce args, float divisor) {
  wait_for_inputs();
  __shared__ float parts[kWarpSize];
  const std::int64_t row = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  const float part =
      fold_columns<Fold, kWideReduceBlock>(args.x + row * args.cols, args.cols, thread);
  const float of_warp = Fold::warp(part);
  if (thread % kWarpSize == 0) parts[thread / kWarpSize] = of_warp;
  __syncthreads();
  if (thread >= kWarpSize) return;
  const float result = Fold::warp(parts[thread]);
  if (thread == 0) args.y[row] = result / divisor;
}

template <class Fold>
void start_reduce(const Reduce& args, cudaStream_t stream) {
  const float divisor = args.how == Reduction::mean ? static_cast<float>(args.cols) : 1.0f;
  if (args.cols <= kNarrowColumns) {
    launch("reduce", reduce_kernel<Fold>, block_count(args.rows, kReduceBlock / kWarpSize),
           kReduceBlock, stream, args, divisor);
  } else {
    launch("reduce.wide", reduce_wide_kernel<Fold>, block_count(args.rows, 1), kWideReduceBlock,
           stream, args, divisor);
  }
}

constexpr int kAccumulateThreads = 128;

// Sums of dy over blocks of rows, `count` columns per thread.
// Traffic: reads dy once, writes partial.
// Needs:   rows of whole parts, aligned to them.
template <class T, int count>
__global__ void __launch_bounds__(kAccumulateThreads)
    accumulate_rows_kernel(const T* dy,     // [rows, cols]
                           float* partial,  // [blocks, cols]
                           std::int64_t rows, std::int64_t cols, const bool* gate) {
  wait_for_inputs();
  if (gate != nullptr && !*gate) return;
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * count;
  if (c >= cols) return;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kAccumulatedRows;
  const std::int64_t end = min(rows, first + kAccumulatedRows);
  Part<float, count> sum = {};
#pragma unroll 8
  for (std::int64_t row = first; row < end; ++row) {
    const auto part = load_part<count>(dy + row * cols + c);
#pragma unroll
    for (int i = 0; i < count; ++i) sum.at[i] += to_float(part.at[i]);
  }
  store_part(partial + blockIdx.x * cols + c, sum);
}

template <class T, int count>
void start_accumulate_rows(const AccumulateRows& args, float* partial, cudaStream_t stream) {
  const std::int64_t parts = args.cols / count;
  const std::int64_t threads = std::clamp<std::int64_t>(
      (parts + kWarpSize - 1) / kWarpSize * kWarpSize, kWarpSize, kAccumulateThreads);
  const dim3 blocks(block_count(args.rows, kAccumulatedRows), block_count(parts, threads));
  launch("accumulate_rows", accumulate_rows_kernel<T, count>, blocks,
         static_cast<unsigned>(threads), stream, static_cast<const T*>(args.dy), partial, args.rows,
         args.cols, args.gate);
}

std::int64_t accumulated_blocks(std::int64_t rows) {
  return (rows + kAccumulatedRows - 1) / kAccumulatedRows;
}

}  // namespace

void reduce(const Reduce& args, cudaStream_t stream) {
  if (args.how == Reduction::max) {
    start_reduce<MaxFold>(args, stream);
  } else {
    start_reduce<SumFold>(args, stream);
  }
}

void accumulate_rows(const AccumulateRows& args, std::byte* workspace, cudaStream_t stream) {
  auto* partial = reinterpret_cast<float*>(workspace);
  with_type(args.kind, [&](auto type) {
    using T = decltype(type);
    if (args.cols % Pack<T>::kCount == 0) {
      start_accumulate_rows<T, Pack<T>::kCount>(args, partial, stream);
    } else {
      start_accumulate_rows<T, 1>(args, partial, stream);
    }
  });
  fold_blocks({.partial = partial,
               .acc = args.acc,
               .blocks = accumulated_blocks(args.rows),
               .cols = args.cols,
               .gate = args.gate},
              stream);
}

std::int64_t accumulate_rows_workspace(std::int64_t rows, std::int64_t cols) {
  return accumulated_blocks(rows) * cols * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace parhelion::exec::cuda
