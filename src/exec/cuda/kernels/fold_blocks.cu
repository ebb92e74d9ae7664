#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/fold_blocks.h"
#include "exec/cuda/kernels/launch.cuh"

namespace parhelion::exec::cuda {
namespace {

constexpr int kFoldSums = 32;

// acc += sums of partial over its rows: a warp's lanes are columns, its warps the 32 sums.
// Traffic: reads partial once, mostly from L2.
__global__ void __launch_bounds__(kWarpSize* kFoldSums) fold_blocks_kernel(FoldBlocks args) {
  wait_for_inputs();
  __shared__ float sums[kFoldSums][kWarpSize];
  if (args.gate != nullptr && !*args.gate) return;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kWarpSize + threadIdx.x;
  const bool live = c < args.cols;
  const int rounds =
      live ? static_cast<int>((args.blocks - threadIdx.y + kFoldSums - 1) / kFoldSums) : 0;
  const float* at = args.partial + threadIdx.y * args.cols + c;
  const std::int64_t stride = kFoldSums * args.cols;
  float sum = 0.0f;
#pragma unroll 16
  for (int i = 0; i < rounds; ++i) sum += at[i * stride];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || !live) return;
  float total = 0.0f;
  for (int i = 0; i < kFoldSums; ++i) total += sums[i][threadIdx.x];
  args.acc[c] += total;
}

}  // namespace

void fold_blocks(const FoldBlocks& args, cudaStream_t stream) {
  if (args.blocks == 0) return;
  launch("fold_blocks", fold_blocks_kernel, block_count(args.cols, kWarpSize),
         dim3(kWarpSize, kFoldSums), stream, args);
}

}  // namespace parhelion::exec::cuda
