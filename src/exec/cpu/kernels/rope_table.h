#pragma once

#include <cstdint>

namespace parhelion::exec::cpu {

/// How frequencies are stretched to longer contexts.
enum class RopeScalingKind : std::uint8_t { none, linear, by_wavelength };

struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::none;
  float factor = 1.0f;
  float low_freq_factor = 1.0f;            ///< by_wavelength
  float high_freq_factor = 4.0f;           ///< by_wavelength
  std::int64_t original_max_position = 0;  ///< by_wavelength
};

struct RopeTable {
  double theta = 10000.0;
  std::int64_t d = 0;  ///< even
  std::int64_t max_position = 0;
  RopeScaling scaling;
};

/// Fills table[max_position, d]: cos(p * f[c]) and sin(p * f[c]) with f[c] = theta^(-2c / d),
/// scaled, in f32 arithmetic as Transformers does.
void fill_rope_table(const RopeTable& args, float* table, int threads);

}  // namespace parhelion::exec::cpu
