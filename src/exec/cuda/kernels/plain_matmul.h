#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// c[m, n] (+)= op_a(a) op_b(b) + bias, whatever kinds, sizes and alignment: products which the
/// library does not take.
///
/// One fused multiply-add after another in ascending k from 0, then the bias, then one rounding or
/// one addition to c.
struct PlainMatmul {
  const void* a = nullptr;     ///< [m, k], transposed [k, m]
  const void* b = nullptr;     ///< [k, n], transposed [n, k]
  const void* bias = nullptr;  ///< [n]; null: none
  void* c = nullptr;           ///< [m, n]; f32 if `accumulate`
  ir::Kind a_kind = ir::Kind::f32, b_kind = ir::Kind::f32;
  ir::Kind bias_kind = ir::Kind::f32, c_kind = ir::Kind::f32;
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, accumulate = false;
};
void plain_matmul(const PlainMatmul& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
