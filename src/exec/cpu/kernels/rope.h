#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// The inverse rotates back, which is the gradient.
enum class RopeDirection : std::uint8_t { forward, inverse };

/// Rotary embedding in half layout: with h = d / 2 and the table's row of a token's position,
///   y[c] = x[c] * cos[c] - x[c + h] * sin[c],   y[c + h] = x[c + h] * cos[c] + x[c] * sin[c]
/// (sin negated for the inverse). Each product is f32; the sum is one fma; rounded once.
///
/// y may be x. A position outside the table is clamped into it.
struct Rope {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x and y
  RopeDirection direction = RopeDirection::forward;
  const void* x = nullptr;  ///< [tokens, heads, d], tokens `x_stride` elements apart
  const std::int32_t* positions = nullptr;  ///< [tokens]
  const float* table = nullptr;             ///< [max_position, d]: cos in [0, h), sin in [h, d)
  void* y = nullptr;                        ///< [tokens, heads, d], dense
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t d = 0;  ///< even
  std::int64_t max_position = 0;
  std::int64_t x_stride = 0;  ///< heads * d where x is dense
};
void rope(const Rope& args, int threads);

}  // namespace parhelion::exec::cpu
