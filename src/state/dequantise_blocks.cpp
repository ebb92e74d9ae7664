#include "state/dequantise_blocks.h"

#include "base/bf16.h"

namespace parhelion::state {
namespace {

struct GroupScale {
  int scale;
  int minimum;
};

GroupScale group_scale(const GroupScales& groups, int group) {
  const auto& bytes = groups.bytes;
  if (group < 4) return {bytes[group] & 63, bytes[group + 4] & 63};
  return {(bytes[group + 4] & 15) | (bytes[group - 4] >> 6) << 4,
          (bytes[group + 4] >> 4) | (bytes[group] >> 6) << 4};
}

/// Element i of 256 that lie as in q4_k.
int group_nibble(const std::uint8_t (&q)[128], int i) {
  const std::uint8_t both = q[i / 64 * 32 + i % 32];
  return i % 64 < 32 ? both & 15 : both >> 4;
}

/// `number(i)` is the integer of element i.
template <class Block, class Number>
void widen_groups(const Block& block, float* out, const Number& number) {
  const float scale = half_to_float(block.scale);
  const float minimum = half_to_float(block.minimum);
  for (int group = 0; group < 8; ++group) {
    const GroupScale of = group_scale(block.groups, group);
    const float step = scale * static_cast<float>(of.scale);
    const float low = minimum * static_cast<float>(of.minimum);
    for (int i = group * 32; i < group * 32 + 32; ++i)
      out[i] = step * static_cast<float>(number(i)) - low;
  }
}

int six_bits(const BlockQ6K& block, int i) {
  const int half = i / 128;
  const int within = i % 128;
  const std::uint8_t both = block.q[half * 64 + within % 64];
  const int low = within < 64 ? both & 15 : both >> 4;
  const int high = block.high[half * 32 + within % 32] >> (within / 32 * 2) & 3;
  return low | high << 4;
}

}  // namespace

void widen_block(const BlockQ4K& block, float* out) {
  widen_groups(block, out, [&](int i) { return group_nibble(block.q, i); });
}

void widen_block(const BlockQ5K& block, float* out) {
  widen_groups(block, out, [&](int i) {
    return group_nibble(block.q, i) | (block.high[i % 32] >> (i / 32) & 1) << 4;
  });
}

void widen_block(const BlockQ6K& block, float* out) {
  const float scale = half_to_float(block.scale);
  for (int i = 0; i < 256; ++i) {
    const float step = scale * static_cast<float>(block.groups[i / 16]);
    out[i] = step * static_cast<float>(six_bits(block, i) - 32);
  }
}

}  // namespace parhelion::state
