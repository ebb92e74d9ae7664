// What the resident step is measured against: the rates of the memory, and what telling every block
// a vector costs by several means.
#include "gpu_resident.h"
#include "gpu_resident_exchange.cuh"
#include <cooperative_groups.h>

namespace parhelion::bench {
namespace {

constexpr int kRateThreads = 512;
constexpr int kNumbers = 1024;

// words holds two vectors, used in turn: a block may still read one while the next is written.
__global__ void __launch_bounds__(kComputing) exchange_kernel(const ExchangeArgs args) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int block = static_cast<int>(blockIdx.x);
  constexpr int kRows = kNumbers / kBlocks;
  Exchanger exchanger(args.grid_sync ? Exchange::words : args.exchange, args.pause, args.state);
  float number = 1.0f;
  for (int i = 1; i <= args.count; ++i) {
    const std::uint32_t epoch = exchanger.epoch() + static_cast<unsigned>(i);
    Word* words = args.words + i % 2 * (kNumbers / 2);
    write_rows(words + block * kRows / 2, kRows, epoch, [&](int) { return number; });
    exchanger.end_writing();
    if (args.grid_sync) cooperative_groups::this_grid().sync();
    exchanger.begin_reading();
    uint2 got[1];
    exchanger.read<1>([&](int) { return words + (warp * kColumns + lane * 4) / 2; }, 1, epoch, got);
    number = unpacked(got[0].x).x;
    computing_barrier();
  }
}

__global__ void close_kernel(std::uint32_t* state, std::uint32_t epochs) {
  state[0] += epochs;
  state[1] = state[2];
}

__global__ void __launch_bounds__(kRateThreads)
    copy_kernel(uint4* to, const uint4* from, std::int64_t packs) {
  const std::int64_t step = std::int64_t{gridDim.x} * kRateThreads;
  std::int64_t at = std::int64_t{blockIdx.x} * kRateThreads + threadIdx.x;
  for (; at + 3 * step < packs; at += 4 * step) {
    uint4 four[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) four[i] = __ldcs(from + at + i * step);
#pragma unroll
    for (int i = 0; i < 4; ++i) __stcs(to + at + i * step, four[i]);
  }
  for (; at < packs; at += step) to[at] = from[at];
}

__global__ void __launch_bounds__(kRateThreads)
    read_kernel(unsigned* sink, const uint4* from, std::int64_t packs) {
  const std::int64_t step = std::int64_t{gridDim.x} * kRateThreads;
  std::int64_t at = std::int64_t{blockIdx.x} * kRateThreads + threadIdx.x;
  unsigned mixed = 0;
  for (; at + 7 * step < packs; at += 8 * step) {
    uint4 eight[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) eight[i] = __ldcs(from + at + i * step);
#pragma unroll
    for (int i = 0; i < 8; ++i) mixed ^= eight[i].x ^ eight[i].y ^ eight[i].z ^ eight[i].w;
  }
  for (; at < packs; at += step) mixed ^= from[at].x;
  if (mixed == 0x12345678u) *sink = mixed;  // keeps the loads
}

__device__ __forceinline__ float drawn(std::uint64_t seed, std::int64_t i) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(i);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  x ^= x >> 31;
  return static_cast<float>(x >> 40) * 0x1p-24f;  // in [0, 1)
}

__global__ void fill_kernel(Bf16* to, std::int64_t count, const Filling filling) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  const float width = filling.deviation * 3.4641016f;  // of an even distribution
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = __float2bfloat16_rn(filling.mean + (drawn(filling.seed, i) - 0.5f) * width);
}

}  // namespace

void launch_exchanges(const ExchangeArgs& args, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kComputing);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, exchange_kernel, args), "exchanges");
  close_kernel<<<1, 1, 0, stream>>>(args.state, static_cast<std::uint32_t>(args.count));
  check(cudaGetLastError(), "close_kernel");
}

void launch_copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  copy_kernel<<<132 * 4, kRateThreads, 0, stream>>>(static_cast<uint4*>(to),
                                                    static_cast<const uint4*>(from), bytes / 16);
  check(cudaGetLastError(), "copy_kernel");
}

void launch_read(void* sink, const void* from, std::int64_t bytes, cudaStream_t stream) {
  read_kernel<<<132 * 4, kRateThreads, 0, stream>>>(static_cast<unsigned*>(sink),
                                                    static_cast<const uint4*>(from), bytes / 16);
  check(cudaGetLastError(), "read_kernel");
}

void fill(Bf16* to, std::int64_t count, const Filling& filling) {
  fill_kernel<<<2048, 256>>>(to, count, filling);
  check(cudaGetLastError(), "fill_kernel");
}

}  // namespace parhelion::bench
