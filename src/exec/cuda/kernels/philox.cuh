#pragma once

#include <cstdint>

namespace parhelion::exec::cuda {

/// Philox4x32-10 with the words of parhelion::philox.
__device__ __forceinline__ uint4 philox(std::uint64_t key, std::uint64_t counter_low,
                                        std::uint64_t counter_high) {
  uint4 word = make_uint4(
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32));
  auto key_low = static_cast<std::uint32_t>(key);
  auto key_high = static_cast<std::uint32_t>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = std::uint64_t{0xD2511F53u} * word.x;
    const std::uint64_t product_1 = std::uint64_t{0xCD9E8D57u} * word.z;
    word = make_uint4(static_cast<std::uint32_t>(product_1 >> 32) ^ word.y ^ key_low,
                      static_cast<std::uint32_t>(product_1),
                      static_cast<std::uint32_t>(product_0 >> 32) ^ word.w ^ key_high,
                      static_cast<std::uint32_t>(product_0));
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return word;
}

/// Elements whose noise16 one Philox block gives.
inline constexpr int kNoiseGroup = 8;

/// noise[i] = noise16(seed, tag, kNoiseGroup group + i), with the bits of parhelion::noise16.
__device__ __forceinline__ void noise_group(std::uint64_t seed, std::uint64_t tag,
                                            std::int64_t group,
                                            std::uint32_t (&noise)[kNoiseGroup]) {
  const uint4 block = philox(seed, static_cast<std::uint64_t>(group), tag);
  const std::uint32_t word[4] = {block.x, block.y, block.z, block.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    noise[2 * i] = word[i] & 0xffffu;
    noise[2 * i + 1] = word[i] >> 16;
  }
}

}  // namespace parhelion::exec::cuda
