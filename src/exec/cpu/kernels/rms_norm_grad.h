#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>

namespace parhelion::exec::cpu {

/// The gradient of rms_norm with respect to x: with g = w * dy, i = rstd(r) and the mean over c,
///   dx[r, c] = i * (g - x * i^2 * mean(g * x)), in f32, rounded once.
///
/// The sum of g * x is an fma chain in 64 partials. dx may be dy.
struct RmsNormGrad {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of all
  const void* x = nullptr;        ///< [rows, cols]
  const void* w = nullptr;        ///< [cols]
  const void* dy = nullptr;       ///< [rows, cols]
  void* dx = nullptr;             ///< [rows, cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
};
void rms_norm_grad(const RmsNormGrad& args, int threads);

/// acc[c] += sum over r of dy[r, c] * round(x[r, c] * rstd(r)).
///
/// Rows are folded in blocks of 256, each an ascending fma chain from 0; blocks ascending.
struct RmsNormWeightGrad {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x and dy
  const void* x = nullptr;        ///< [rows, cols]
  const void* dy = nullptr;       ///< [rows, cols]
  float* acc = nullptr;           ///< [cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
};
void rms_norm_weight_grad(const RmsNormWeightGrad& args, void* scratch, int threads);

/// Bytes that rms_norm_weight_grad needs.
std::size_t rms_norm_weight_grad_scratch_bytes(std::int64_t rows);

}  // namespace parhelion::exec::cpu
