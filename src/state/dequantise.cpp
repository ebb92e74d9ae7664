#include "state/dequantise.h"

#include "base/bf16.h"
#include "base/error.h"
#include "state/dequantise_blocks.h"

#include <cstring>

namespace parhelion::state {
namespace {

/// q[i] * scale.
struct BlockQ80 {
  std::uint16_t scale;
  std::int8_t q[32];
};

/// (q[i] - 8) * scale; byte i holds q[i] below q[i + 16].
struct BlockQ40 {
  std::uint16_t scale;
  std::uint8_t q[16];
};

/// q[i] * scale + minimum; byte i holds q[i] below q[i + 16].
struct BlockQ41 {
  std::uint16_t scale;
  std::uint16_t minimum;
  std::uint8_t q[16];
};

/// (q[i] - 16) * scale; the low four bits of q as in q4_0, its fifth is bit i of `high`.
struct BlockQ50 {
  std::uint16_t scale;
  std::uint8_t high[4];
  std::uint8_t q[16];
};

/// q[i] * scale + minimum, with q as in q5_0.
struct BlockQ51 {
  std::uint16_t scale;
  std::uint16_t minimum;
  std::uint8_t high[4];
  std::uint8_t q[16];
};

static_assert(sizeof(BlockQ80) == 34 && sizeof(BlockQ40) == 18 && sizeof(BlockQ41) == 20);
static_assert(sizeof(BlockQ50) == 22 && sizeof(BlockQ51) == 24);

int nibble(const std::uint8_t (&q)[16], int i) { return i < 16 ? q[i] & 15 : q[i - 16] >> 4; }

int five_bits(const std::uint8_t (&q)[16], const std::uint8_t (&high)[4], int i) {
  return nibble(q, i) | ((high[i / 8] >> (i % 8)) & 1) << 4;
}

void widen_block(const BlockQ80& block, float* out) {
  const float scale = half_to_float(block.scale);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(block.q[i]) * scale;
}

void widen_block(const BlockQ40& block, float* out) {
  const float scale = half_to_float(block.scale);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(nibble(block.q, i) - 8) * scale;
}

void widen_block(const BlockQ41& block, float* out) {
  const float scale = half_to_float(block.scale);
  const float minimum = half_to_float(block.minimum);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(nibble(block.q, i)) * scale + minimum;
}

void widen_block(const BlockQ50& block, float* out) {
  const float scale = half_to_float(block.scale);
  for (int i = 0; i < 32; ++i)
    out[i] = static_cast<float>(five_bits(block.q, block.high, i) - 16) * scale;
}

void widen_block(const BlockQ51& block, float* out) {
  const float scale = half_to_float(block.scale);
  const float minimum = half_to_float(block.minimum);
  for (int i = 0; i < 32; ++i)
    out[i] = static_cast<float>(five_bits(block.q, block.high, i)) * scale + minimum;
}

template <class Block>
void widen_blocks(const std::byte* blocks, std::int64_t block_count, std::int64_t elements,
                  float* out) {
  for (std::int64_t i = 0; i < block_count; ++i) {
    Block block;
    std::memcpy(&block, blocks + i * std::int64_t{sizeof block}, sizeof block);
    widen_block(block, out + i * elements);
  }
}

}  // namespace

void dequantise(ir::Kind kind, const std::byte* blocks, std::int64_t block_count, float* out) {
  if (kind == ir::Kind::q8_0) return widen_blocks<BlockQ80>(blocks, block_count, 32, out);
  if (kind == ir::Kind::q4_0) return widen_blocks<BlockQ40>(blocks, block_count, 32, out);
  if (kind == ir::Kind::q4_1) return widen_blocks<BlockQ41>(blocks, block_count, 32, out);
  if (kind == ir::Kind::q5_0) return widen_blocks<BlockQ50>(blocks, block_count, 32, out);
  if (kind == ir::Kind::q5_1) return widen_blocks<BlockQ51>(blocks, block_count, 32, out);
  if (kind == ir::Kind::q4_k) return widen_blocks<BlockQ4K>(blocks, block_count, 256, out);
  if (kind == ir::Kind::q5_k) return widen_blocks<BlockQ5K>(blocks, block_count, 256, out);
  if (kind == ir::Kind::q6_k) return widen_blocks<BlockQ6K>(blocks, block_count, 256, out);
  fail(ErrorKind::bug, "dequantise: {} is not quantised", ir::name(kind));
}

}  // namespace parhelion::state
