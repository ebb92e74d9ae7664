#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/step.h"

namespace parhelion::exec::cuda {
namespace {

constexpr int kNormThreads = 256;
constexpr int kNormWarps = kNormThreads / kWarpSize;

// block_sums[i] = sum of squares of block i, one warp a block: a lane adds every 32nd pack of four
// in four partial sums, which are folded by halves, then the lanes.
// Traffic: reads x once. Needs: blocks aligned to 16 bytes.
__global__ void __launch_bounds__(kNormThreads) block_norm_kernel(SquaredNorms args) {
  wait_for_inputs();
  const std::int64_t index =
      std::int64_t{blockIdx.x} * kNormWarps + static_cast<int>(threadIdx.x) / kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  if (index >= args.block_count) return;
  const NormBlock block = args.blocks[index];
  const auto* packs = reinterpret_cast<const float4*>(block.x);
  const auto pack_count = static_cast<int>(block.count / 4);
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
  for (int i = lane; i < pack_count; i += kWarpSize) {
    const float4 x = packs[i];
    sum.x = fmaf(x.x, x.x, sum.x);
    sum.y = fmaf(x.y, x.y, sum.y);
    sum.z = fmaf(x.z, x.z, sum.z);
    sum.w = fmaf(x.w, x.w, sum.w);
  }
  float total = (sum.x + sum.z) + (sum.y + sum.w);
  const int rest = pack_count * 4 + lane;
  if (rest < block.count) total = fmaf(block.x[rest], block.x[rest], total);
  total = warp_sum(total);
  if (lane == 0) args.block_sums[index] = total;
}

// y of one item a block: thread t adds every 256th of its block sums from t on, in f64; the
// threads' sums are folded by halves.
__global__ void __launch_bounds__(kNormThreads) item_norm_kernel(SquaredNorms args) {
  wait_for_inputs();
  __shared__ double sums[kNormThreads];
  const NormItem item = args.items[blockIdx.x];
  const float* block_sums = args.block_sums + item.first_block;
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < item.block_count; i += kNormThreads)
    sum += static_cast<double>(block_sums[i]);
  sums[threadIdx.x] = sum;
  for (unsigned half = kNormThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *item.y = static_cast<float>(sums[0]);
}

__global__ void step_scale_kernel(StepScale args) {
  wait_for_inputs();
  const float weight = *args.weight;
  if (weight == 0) {
    *args.loss = *args.norm = *args.scale = 0;
    *args.apply = false;
    return;
  }
  const float loss = __fdiv_rn(*args.loss_sum, weight);
  const float norm = __fdiv_rn(__fsqrt_rn(*args.squared_norm), weight);
  const float ratio = __fdiv_rn(args.max_norm, __fadd_rn(norm, 1e-6f));
  const float clip = args.max_norm != 0 && ratio < 1.0f ? ratio : 1.0f;
  *args.loss = loss;
  *args.norm = norm;
  *args.scale = __fdiv_rn(clip, weight);
  *args.apply = weight > 0 && isfinite(loss) && isfinite(norm);
}

}  // namespace

void squared_norms(const SquaredNorms& args, cudaStream_t stream) {
  launch("block_norm", block_norm_kernel, block_count(args.block_count, kNormWarps), kNormThreads,
         stream, args);
  launch("item_norm", item_norm_kernel, static_cast<unsigned>(args.item_count), kNormThreads,
         stream, args);
}

void step_scale(const StepScale& args, cudaStream_t stream) {
  launch("step_scale", step_scale_kernel, 1, 1, stream, args);
}

}  // namespace parhelion::exec::cuda
