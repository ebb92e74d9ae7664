#include "state/dequantise.h"

#include "base/bf16.h"
#include "base/error.h"

#include <cstring>

namespace parhelion::state {
namespace {

/// 32 elements: q[i] * scale.
struct BlockQ8 {
  std::uint16_t scale;
  std::int8_t q[32];
};

/// 32 elements: (q[i] - 8) * scale; byte i holds q[i] below q[i + 16].
struct BlockQ40 {
  std::uint16_t scale;
  std::uint8_t q[16];
};

/// 32 elements: q[i] * scale + minimum; byte i holds q[i] below q[i + 16].
struct BlockQ41 {
  std::uint16_t scale;
  std::uint16_t minimum;
  std::uint8_t q[16];
};

static_assert(sizeof(BlockQ8) == 34 && sizeof(BlockQ40) == 18 && sizeof(BlockQ41) == 20);

void widen_block(const BlockQ8& block, float* out) {
  const float scale = half_to_float(block.scale);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(block.q[i]) * scale;
}

void widen_block(const BlockQ40& block, float* out) {
  const float scale = half_to_float(block.scale);
  for (int i = 0; i < 16; ++i) out[i] = static_cast<float>((block.q[i] & 15) - 8) * scale;
  for (int i = 0; i < 16; ++i) out[i + 16] = static_cast<float>((block.q[i] >> 4) - 8) * scale;
}

void widen_block(const BlockQ41& block, float* out) {
  const float scale = half_to_float(block.scale);
  const float minimum = half_to_float(block.minimum);
  for (int i = 0; i < 16; ++i) out[i] = static_cast<float>(block.q[i] & 15) * scale + minimum;
  for (int i = 0; i < 16; ++i) out[i + 16] = static_cast<float>(block.q[i] >> 4) * scale + minimum;
}

template <class Block>
void widen_blocks(const std::byte* blocks, std::int64_t block_count, float* out) {
  for (std::int64_t i = 0; i < block_count; ++i) {
    Block block;
    std::memcpy(&block, blocks + i * std::int64_t{sizeof block}, sizeof block);
    widen_block(block, out + i * kBlockElements);
  }
}

}  // namespace

void dequantise(ir::Kind kind, const std::byte* blocks, std::int64_t block_count, float* out) {
  if (kind == ir::Kind::q8_0) return widen_blocks<BlockQ8>(blocks, block_count, out);
  if (kind == ir::Kind::q4_0) return widen_blocks<BlockQ40>(blocks, block_count, out);
  if (kind == ir::Kind::q4_1) return widen_blocks<BlockQ41>(blocks, block_count, out);
  fail(ErrorKind::bug, "dequantise: {} is not quantised", ir::name(kind));
}

}  // namespace parhelion::state
