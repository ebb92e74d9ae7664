#include "exec/cuda/kernels/dropout.h"
#include "exec/cuda/kernels/map.cuh"
#include "exec/cuda/kernels/philox.cuh"

namespace parhelion::exec::cuda {
namespace {

static_assert(kMapCount == kNoiseGroup, "a thread draws one block of noise");

template <class T>
__device__ __forceinline__ T dropout_of(T x, std::uint32_t noise, const Dropout& args) {
  return noise >= args.threshold ? from_float<T>(to_float(x) * args.factor) : from_float<T>(0.0f);
}

// y = x factor where the noise says so, else 0; one pack and one block of noise per thread.
// Traffic: reads x once, writes y.
// Needs:   operands aligned to 16 bytes.
template <class T>
__global__ void __launch_bounds__(kMapThreads) dropout_kernel(Dropout args) {
  wait_for_inputs();
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * kMapThreads + threadIdx.x;
  const std::int64_t first = kMapCount * group;
  if (first >= args.count) return;
  const T* x = static_cast<const T*>(args.x) + first;
  T* y = static_cast<T*>(args.y) + first;
  std::uint32_t noise[kNoiseGroup];
  noise_group(*args.seed, static_cast<std::uint64_t>(args.tag), group, noise);
  if (first + kMapCount <= args.count) {
    MapPack<T> pack = map_load(x);
#pragma unroll
    for (int i = 0; i < kMapCount; ++i) pack.at[i] = dropout_of(pack.at[i], noise[i], args);
    store_part(y, pack);
    return;
  }
#pragma unroll
  for (int i = 0; i < kMapCount; ++i) {
    if (first + i < args.count) y[i] = dropout_of(x[i], noise[i], args);
  }
}

}  // namespace

void dropout(const Dropout& args, cudaStream_t stream) {
  with_type(args.kind, [&](auto type) {
    launch("dropout", dropout_kernel<decltype(type)>, map_blocks(args.count), kMapThreads, stream,
           args);
  });
}

}  // namespace parhelion::exec::cuda
