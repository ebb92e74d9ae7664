#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/drawn_tokens.h"
#include "exec/cuda/kernels/launch.cuh"

namespace parhelion::exec::cuda {
namespace {

constexpr int kTokenThreads = 256;

__device__ __forceinline__ std::int64_t token_index() {
  return static_cast<std::int64_t>(blockIdx.x) * kTokenThreads + threadIdx.x;
}

// Traffic: reads two numbers a token and writes one.
__global__ void __launch_bounds__(kTokenThreads) feed_tokens_kernel(FeedTokens args) {
  wait_for_inputs();
  const std::int64_t t = token_index();
  if (t >= args.tokens) return;
  const std::int64_t slot = args.source[t];
  args.y[t] = slot >= 0 && slot < args.slots ? max(args.drawn[slot], 0) : args.ids[t];
}

// Traffic: reads two numbers a row and writes one.
__global__ void __launch_bounds__(kTokenThreads) keep_tokens_kernel(KeepTokens args) {
  wait_for_inputs();
  if (args.gate != nullptr && !*args.gate) return;
  const std::int64_t r = token_index();
  if (r >= args.rows) return;
  const std::int64_t slot = args.slot[r];
  if (slot >= 0 && slot < args.slots) args.drawn[slot] = args.sampled[r];
}

}  // namespace

void feed_tokens(const FeedTokens& args, cudaStream_t stream) {
  launch("feed_tokens", feed_tokens_kernel, block_count(args.tokens, kTokenThreads), kTokenThreads,
         stream, args);
}

void keep_tokens(const KeepTokens& args, cudaStream_t stream) {
  launch("keep_tokens", keep_tokens_kernel, block_count(args.rows, kTokenThreads), kTokenThreads,
         stream, args);
}

}  // namespace parhelion::exec::cuda
