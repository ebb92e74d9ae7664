#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/product_edges.h"

namespace parhelion::exec::cuda {
namespace {

constexpr int kEdgeThreads = 256;
constexpr int kEdgePack = 8;

// Eight numbers a thread: reads 16 bytes, writes 32. The last thread does the rest one by one.
__global__ void __launch_bounds__(kEdgeThreads)
    widen_kernel(const __nv_bfloat16* x, float* wide, std::int64_t count) {
  wait_for_inputs();
  const std::int64_t first =
      (std::int64_t{blockIdx.x} * kEdgeThreads + threadIdx.x) * std::int64_t{kEdgePack};
  if (first + kEdgePack <= count) {
    const auto in = *reinterpret_cast<const Pack<__nv_bfloat16>*>(x + first);
    Pack<float> out[2];
#pragma unroll
    for (int i = 0; i < kEdgePack; ++i) out[i / 4].at[i % 4] = to_float(in.at[i]);
    *reinterpret_cast<Pack<float>*>(wide + first) = out[0];
    *reinterpret_cast<Pack<float>*>(wide + first + 4) = out[1];
    return;
  }
  for (std::int64_t i = first; i < count; ++i) wide[i] = to_float(x[i]);
}

// One number a thread and turn: reads product and bias, writes c.
template <class C, class B>
__global__ void __launch_bounds__(kEdgeThreads) finish_product_kernel(ProductEnd args) {
  wait_for_inputs();
  const B* bias = static_cast<const B*>(args.bias);
  C* c = static_cast<C*>(args.c);
  const std::int64_t count = args.rows * args.columns;
  const std::int64_t stride = std::int64_t{gridDim.x} * kEdgeThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kEdgeThreads + threadIdx.x; i < count;
       i += stride) {
    float value = args.product[i];
    if (bias != nullptr) value = __fadd_rn(value, to_float(bias[i % args.columns]));
    c[i] = from_float<C>(value);
  }
}

constexpr std::int64_t kFinishBlocks = 132 * 16;

}  // namespace

void widen(const void* x, float* wide, std::int64_t count, cudaStream_t stream) {
  const unsigned blocks = block_count(count, kEdgeThreads * kEdgePack);
  launch("widen", widen_kernel, blocks, kEdgeThreads, stream, static_cast<const __nv_bfloat16*>(x),
         wide, count);
}

void finish_product(const ProductEnd& args, cudaStream_t stream) {
  const std::int64_t count = args.rows * args.columns;
  const unsigned blocks = block_count(count, kEdgeThreads, kFinishBlocks);
  with_type(args.c_kind, [&](auto c) {
    with_type(args.bias_kind, [&](auto bias) {
      launch("finish_product", finish_product_kernel<decltype(c), decltype(bias)>, blocks,
             kEdgeThreads, stream, args);
    });
  });
}

}  // namespace parhelion::exec::cuda
