#pragma once

#include <cstdint>

namespace parhelion::state {

/// Scale and minimum of each of eight groups of 32 elements, six bits each: those of groups 0 to 3
/// are the low bits of bytes 0 to 3 and 4 to 7; those of groups 4 to 7 are the two halves of bytes
/// 8 to 11 below the high two bits of the others.
struct GroupScales {
  std::uint8_t bytes[12];
};

/// q[i] * (scale * group scale) - minimum * group minimum; 64 elements lie in 32 bytes, the first
/// 32 of them in the low halves.
struct BlockQ4K {
  std::uint16_t scale;
  std::uint16_t minimum;
  GroupScales groups;
  std::uint8_t q[128];
};

/// As q4_k, with a fifth bit: of element i, bit i / 32 of `high[i % 32]`.
struct BlockQ5K {
  std::uint16_t scale;
  std::uint16_t minimum;
  GroupScales groups;
  std::uint8_t high[32];
  std::uint8_t q[128];
};

/// (q[i] - 32) * (scale * group scale), 16 elements a group. Of 128 elements, i and i + 64 are the
/// halves of byte i, and the upper two bits of i, i + 32, i + 64 and i + 96 share a byte of `high`.
struct BlockQ6K {
  std::uint8_t q[128];
  std::uint8_t high[64];
  std::int8_t groups[16];
  std::uint16_t scale;
};

static_assert(sizeof(BlockQ4K) == 144 && sizeof(BlockQ5K) == 176 && sizeof(BlockQ6K) == 210);

/// Writes the 256 elements of a block. Source: the file format GGUF.
void widen_block(const BlockQ4K& block, float* out);
void widen_block(const BlockQ5K& block, float* out);
void widen_block(const BlockQ6K& block, float* out);

}  // namespace parhelion::state
