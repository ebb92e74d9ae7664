#pragma once

#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// y = round(silu(gate)) * up, silu(g) = g / (1 + exp(-g)); the product is rounded again.
///
/// Row strides let gate and up be the two halves of one matrix [rows, 2 * cols].
struct Swiglu {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of all
  const void* gate = nullptr;     ///< [rows, cols], rows `gate_stride` elements apart
  const void* up = nullptr;       ///< [rows, cols], rows `up_stride` elements apart
  void* y = nullptr;              ///< [rows, cols], dense
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t gate_stride = 0;
  std::int64_t up_stride = 0;
};
void swiglu(const Swiglu& args, int threads);

/// The gradient of swiglu, recomputed from its inputs; y of `forward` is not read.
///
/// d_up = dy * round(silu(g));  d_gate = dy * up * sigmoid(g) * (1 + g * (1 - sigmoid(g)))
/// in f32, each rounded once.
struct SwigluGrad {
  Swiglu forward;
  const void* dy = nullptr;  ///< [rows, cols], dense
  void* d_gate = nullptr;    ///< as gate: [rows, cols] at gate_stride
  void* d_up = nullptr;      ///< as up: [rows, cols] at up_stride
};
void swiglu_grad(const SwigluGrad& args, int threads);

}  // namespace parhelion::exec::cpu
