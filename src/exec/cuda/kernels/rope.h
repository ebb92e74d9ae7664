#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Rotary embedding in half layout: with h = d / 2 and the table's row of a token's position,
///   y[c] = x[c] * cos[c] - x[c + h] * sin[c],   y[c + h] = x[c + h] * cos[c] + x[c] * sin[c]
/// (sin negated where `inverse`). One product is f32, the sum is one fma; rounded once.
///
/// y may be x. A position outside the table is clamped into it. All are aligned to 16 bytes.
struct Rope {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x and y
  bool inverse = false;
  const void* x = nullptr;                  ///< [tokens, heads, d]
  const std::int32_t* positions = nullptr;  ///< [tokens]
  const float* table = nullptr;             ///< [max_position, d]: cos in [0, h), sin in [h, d)
  void* y = nullptr;                        ///< [tokens, heads, d]
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t d = 0;  ///< even
  std::int64_t max_position = 0;
};
void rope(const Rope& args, cudaStream_t stream);

/// table[p, c] = cos(p f[c]), table[p, d / 2 + c] = sin(p f[c]) with f[c] = theta^(-2c / d) divided
/// by `factor`; by wavelength: long waves are divided, short ones kept, those between are blended.
///
/// Angles are f32 as Transformers has them, their functions f64.
struct RopeTable {
  double theta = 10000.0;
  std::int64_t d = 0;  ///< even
  std::int64_t max_position = 0;
  float factor = 1.0f;
  bool by_wavelength = false;
  float low_frequency = 1.0f;   ///< by wavelength
  float high_frequency = 4.0f;  ///< by wavelength
  float original = 0.0f;        ///< by wavelength: positions before stretching
  float* table = nullptr;       ///< [max_position, d]
};
void fill_rope_table(const RopeTable& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
