#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// y = round(silu(gate)) * up, silu(g) = g / (1 + exp(-g)); the product is rounded again.
/// y may be gate or up. All are aligned to 16 bytes.
struct Swiglu {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of all
  const void* gate = nullptr;     ///< [count]
  const void* up = nullptr;       ///< [count]
  void* y = nullptr;              ///< [count]
  std::int64_t count = 0;
};
void swiglu(const Swiglu& args, cudaStream_t stream);

/// The gradient of swiglu, recomputed from its inputs:
///
///   d_up = dy * round(silu(g))      d_gate = dy * up * sigmoid(g) * (1 + g * (1 - sigmoid(g)))
///
/// in f32, each rounded once. All are aligned to 16 bytes; outputs may be inputs.
struct SwigluGrad {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of all
  const void* gate = nullptr;     ///< [count]
  const void* up = nullptr;       ///< [count]
  const void* dy = nullptr;       ///< [count]
  void* d_gate = nullptr;         ///< [count]
  void* d_up = nullptr;           ///< [count]
  std::int64_t count = 0;
};
void swiglu_grad(const SwigluGrad& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
