#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// y[r, c] = w[c] * round(x[r, c] * rstd(r)), rstd(r) = 1 / sqrt(sum(x[r, :]^2) / cols + eps)
///
/// round is to the storage type, as Hugging Face does; statistics are f32. The sum of squares
/// is an fma chain in 64 partials (docs/exec/kernels.md), so it depends on the row alone.
/// y may be x. rows or cols may be 0.
struct RmsNorm {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x, w, y
  const void* x = nullptr;        ///< [rows, cols]
  const void* w = nullptr;        ///< [cols]
  void* y = nullptr;              ///< [rows, cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
};
void rms_norm(const RmsNorm& args, int threads);

/// s = x + r, then y = rms_norm(s), with the bits of add followed by rms_norm.
///
/// args.x is x, args.y is y; s may be x or r.
struct AddRmsNorm {
  RmsNorm norm;
  const void* r = nullptr;  ///< [rows, cols]
  void* s = nullptr;        ///< [rows, cols]
};
void add_rms_norm(const AddRmsNorm& args, int threads);

}  // namespace parhelion::exec::cpu
