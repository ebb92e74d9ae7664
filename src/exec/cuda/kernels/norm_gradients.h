#pragma once

#include "exec/cuda/kernels/head_turn.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Both gradients of rms_norm in one pass, with the bits of rope, rms_norm_grad, add and
/// rms_norm_weight_grad run one after the other:
///   g = dy, or dy turned;   dx = rms_norm_grad(x, w, g), or rest + that;
///   acc[c] += sum over r of g[r, c] * round(x[r, c] * rstd(r)).
///
/// All are aligned to 16 bytes. dx may be x, dy or rest.
struct NormGradients {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x, w, dy, rest and dx
  const void* x = nullptr;        ///< [rows, cols]
  const void* w = nullptr;        ///< [cols]
  const void* dy = nullptr;       ///< [rows, cols]
  const void* rest = nullptr;     ///< [rows, cols]; null: none is added, as where dy is turned
  void* dx = nullptr;             ///< [rows, cols]
  float* acc = nullptr;           ///< [cols]; null: no gradient of w
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
  HeadTurn turn = {};
};

/// `workspace` has the bytes of norm_gradients_workspace where acc is given.
void norm_gradients(const NormGradients& args, std::byte* workspace, cudaStream_t stream);
std::int64_t norm_gradients_workspace(ir::Kind kind, std::int64_t rows, std::int64_t cols);

/// Whether rows lie in registers, which norm_gradients needs.
bool has_norm_gradients(ir::Kind kind, std::int64_t cols);

}  // namespace parhelion::exec::cuda
