#include "exec/cpu/kernels/rope_table.h"

#include "exec/cpu/kernels/parallel.h"

#include <cmath>
#include <numbers>

namespace parhelion::exec::cpu {
namespace {

/// Long waves are stretched by the factor, short ones kept, those between are blended.
float rope_stretched_frequency(float frequency, const RopeScaling& scaling) {
  const auto original = static_cast<float>(scaling.original_max_position);
  const float wavelength = static_cast<float>(2.0 * std::numbers::pi) / frequency;
  if (wavelength < original / scaling.high_freq_factor) return frequency;
  if (wavelength > original / scaling.low_freq_factor) return frequency / scaling.factor;
  const float smooth = (original / wavelength - scaling.low_freq_factor) /
                       (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0f - smooth) * frequency / scaling.factor + smooth * frequency;
}

float rope_frequency(const RopeTable& args, std::int64_t column) {
  const float exponent = static_cast<float>(2 * column) / static_cast<float>(args.d);
  const double power =
      std::pow(static_cast<double>(static_cast<float>(args.theta)), static_cast<double>(exponent));
  const float frequency = 1.0f / static_cast<float>(power);
  if (args.scaling.kind == RopeScalingKind::linear) return frequency / args.scaling.factor;
  if (args.scaling.kind == RopeScalingKind::by_wavelength) {
    return rope_stretched_frequency(frequency, args.scaling);
  }
  return frequency;
}

}  // namespace

void fill_rope_table(const RopeTable& args, float* table, int threads) {
  const std::int64_t half = args.d / 2;
  parallel_ranges(half, 1, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const float frequency = rope_frequency(args, c);
      for (std::int64_t p = 0; p < args.max_position; ++p) {
        const auto angle = static_cast<double>(static_cast<float>(p) * frequency);
        table[p * args.d + c] = static_cast<float>(std::cos(angle));
        table[p * args.d + half + c] = static_cast<float>(std::sin(angle));
      }
    }
  });
}

}  // namespace parhelion::exec::cpu
