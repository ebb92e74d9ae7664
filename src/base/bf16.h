#pragma once

#include <bit>
#include <cstdint>

namespace parhelion {

/// The upper half of an f32: 8 exponent bits, 7 stored mantissa bits.
struct BFloat16 {
  std::uint16_t bits = 0;
  bool operator==(const BFloat16&) const = default;
};

/// Exact.
inline float to_float(BFloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

/// Rounds to nearest, ties to even; NaN stays a quiet NaN.
inline BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/// IEEE half precision to f32, exact.
float half_to_float(std::uint16_t bits);

}  // namespace parhelion
