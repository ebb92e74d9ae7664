#pragma once

#include <cstdint>

namespace parhelion::exec::cpu {

/// The sum of x[i]^2, folded as ir::SquaredNorm says.
///
/// Shapes: x [count]; block_sums [squared_norm_blocks(count)], overwritten
float squared_norm(const float* x, std::int64_t count, float* block_sums, int threads);
std::int64_t squared_norm_blocks(std::int64_t count);

/// y[i] = x[i] factor where noise16(seed, tag, i) >= threshold, else 0. y may be x.
struct Dropout {
  bool is_bf16 = false;  ///< else f32
  const void* x = nullptr;
  void* y = nullptr;
  std::int64_t count = 0;
  std::int64_t tag = 0;
  std::int32_t threshold = 0;  ///< of 65536
  float factor = 1.0f;
};
void dropout(const Dropout& args, std::uint64_t seed, int threads);

}  // namespace parhelion::exec::cpu
