#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/launch.cuh"
#include "exec/cuda/kernels/plain_matmul.h"

namespace parhelion::exec::cuda {
namespace {

constexpr int kPlainThreads = 128;
constexpr std::int64_t kPlainBlocks = 65536;

__device__ float bias_at(const PlainMatmul& args, std::int64_t column) {
  if (args.bias_kind == ir::Kind::bf16)
    return to_float(static_cast<const __nv_bfloat16*>(args.bias)[column]);
  return static_cast<const float*>(args.bias)[column];
}

// One thread per output, neighbours in a row of c. Not fast: for products that the library refuses.
template <class A, class B, class C>
__global__ void __launch_bounds__(kPlainThreads) plain_matmul_kernel(PlainMatmul args) {
  wait_for_inputs();
  const A* a = static_cast<const A*>(args.a);
  const B* b = static_cast<const B*>(args.b);
  C* c = static_cast<C*>(args.c);
  const std::int64_t a_step = args.transpose_a ? args.m : 1;
  const std::int64_t b_step = args.transpose_b ? 1 : args.n;
  const std::int64_t count = args.m * args.n;
  const std::int64_t stride = std::int64_t{gridDim.x} * kPlainThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kPlainThreads + threadIdx.x; i < count;
       i += stride) {
    const std::int64_t row = i / args.n;
    const std::int64_t column = i % args.n;
    const A* x = a + (args.transpose_a ? row : row * args.k);
    const B* y = b + (args.transpose_b ? column * args.k : column);
    float sum = 0.0f;
    for (std::int64_t k = 0; k < args.k; ++k)
      sum = fmaf(to_float(x[k * a_step]), to_float(y[k * b_step]), sum);
    if (args.bias != nullptr) sum = __fadd_rn(sum, bias_at(args, column));
    if (args.accumulate) sum = __fadd_rn(to_float(c[i]), sum);
    c[i] = from_float<C>(sum);
  }
}

}  // namespace

void plain_matmul(const PlainMatmul& args, cudaStream_t stream) {
  const std::int64_t count = args.m * args.n;
  const unsigned blocks = block_count(count, kPlainThreads, kPlainBlocks);
  with_type(args.a_kind, [&](auto a) {
    with_type(args.b_kind, [&](auto b) {
      with_type(args.c_kind, [&](auto c) {
        launch("plain_matmul", plain_matmul_kernel<decltype(a), decltype(b), decltype(c)>, blocks,
               kPlainThreads, stream, args);
      });
    });
  });
}

}  // namespace parhelion::exec::cuda
