#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_bf16.h>

/// What assert() calls on a device; declared here since builds without assertions hide it.
extern "C" __device__ void __assertfail(const char* what, const char* file, unsigned line,
                                        const char* function, std::size_t char_bytes);

namespace parhelion::exec::cuda::resident {

inline constexpr unsigned kAllLanes = 0xffffffffu;

/// Ends the kernel where a wait takes seconds: an error that names what was waited for, its block
/// and thread instead of a hang.
class Watchdog {
 public:
  __device__ __forceinline__ void look(const char* what) {
    if (++looks_ % 64 != 0) return;
    const std::uint64_t now = nanoseconds();
    if (begin_ == 0) begin_ = now;
    if (now - begin_ > 2'000'000'000ull) __assertfail(what, __FILE__, __LINE__, "Watchdog", 1);
  }

 private:
  static __device__ __forceinline__ std::uint64_t nanoseconds() {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  }
  std::uint64_t begin_ = 0;
  unsigned looks_ = 0;
};

__device__ __forceinline__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to copies; followed by a barrier of the block.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ bool barrier_passed(std::uint32_t barrier, unsigned parity) {
  unsigned passed;
  asm volatile(
      "{ .reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p; }"
      : "=r"(passed)
      : "r"(barrier), "r"(parity)
      : "memory");
  return passed != 0;
}

__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, unsigned parity,
                                             const char* what) {
  Watchdog dog;
  while (!barrier_passed(barrier, parity)) dog.look(what);
}

/// The policy of bytes that are read once: they leave the L2 first.
__device__ __forceinline__ std::uint64_t streaming_policy() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// Copies `bytes`, a multiple of 16, into shared memory; `barrier` counts them in.
__device__ __forceinline__ void bulk_copy(std::uint32_t to, const void* from, unsigned bytes,
                                          std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

/// Copies a tile of a tensor of rank 3 that begins at (column, head, token); what lies outside the
/// tensor is zero, and is counted too.
__device__ __forceinline__ void tile_copy(std::uint32_t to, const void* map, int head, int token,
                                          std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(map), "r"(0), "r"(head), "r"(token), "r"(barrier), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void prefetch(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/// c += a b of 16x16 and 16x8 in bf16, for an a whose lower eight rows are zero.
__device__ __forceinline__ void multiply_add(float (&c)[4], unsigned a0, unsigned a2, unsigned b0,
                                             unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
      " {%0, %1, %2, %3}, {%4, %5, %6, %5}, {%7, %8}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(0u), "r"(a2), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float lane_sum(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

__device__ __forceinline__ float2 unpacked(std::uint32_t bits) {
  return __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(bits));
}

__device__ __forceinline__ std::uint32_t packed(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(both);
}

__device__ __forceinline__ float rounded(float x) {
  return __bfloat162float(__float2bfloat16_rn(x));
}

}  // namespace parhelion::exec::cuda::resident
