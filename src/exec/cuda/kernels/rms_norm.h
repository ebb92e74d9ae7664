#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

// All operands are aligned to 16 bytes. A row's fold depends on its columns alone, and is the same
// in all of these.

/// y[r, c] = w[c] * round(x[r, c] * rstd(r)), rstd(r) = 1 / sqrt(sum(x[r, :]^2) / cols + eps);
/// round is to the storage type.
struct RmsNorm {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x, w, y
  const void* x = nullptr;        ///< [rows, cols]
  const void* w = nullptr;        ///< [cols]
  void* y = nullptr;              ///< [rows, cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
};
void rms_norm(const RmsNorm& args, cudaStream_t stream);

/// s = x + r, then y = rms_norm(s), with the bits of add followed by rms_norm.
struct AddRmsNorm {
  RmsNorm norm;
  const void* r = nullptr;  ///< [rows, cols]
  void* s = nullptr;        ///< [rows, cols]
};
void add_rms_norm(const AddRmsNorm& args, cudaStream_t stream);

/// The gradient of rms_norm with respect to x: with g = w * dy, i = rstd(r) and the mean over c,
/// dx[r, c] = i * (g - x * i^2 * mean(g * x)), in f32, rounded once.
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
void rms_norm_grad(const RmsNormGrad& args, cudaStream_t stream);

/// acc[c] += sum over r of dy[r, c] * round(x[r, c] * rstd(r)).
///
/// Rows are folded in blocks whose size follows from the columns, each ascending; the sums of
/// blocks as fold_blocks does.
struct RmsNormWeightGrad {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x and dy
  const void* x = nullptr;        ///< [rows, cols]
  const void* dy = nullptr;       ///< [rows, cols]
  float* acc = nullptr;           ///< [cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
  const bool* gate = nullptr;  ///< null: always
};
void rms_norm_weight_grad(const RmsNormWeightGrad& args, std::byte* workspace, cudaStream_t stream);

/// Bytes that rms_norm_weight_grad needs; only kind, rows and cols of `args` are read.
std::int64_t rms_norm_weight_grad_workspace(const RmsNormWeightGrad& args);

}  // namespace parhelion::exec::cuda
