#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// wide[i] = x[i]: bf16 to f32. Shapes: [count] both, aligned to 16.
void widen(const void* x, float* wide, std::int64_t count, cudaStream_t stream);

/// c = product + bias, rounded once.
struct ProductEnd {
  const float* product = nullptr;  ///< [rows, columns]; may be c
  const void* bias = nullptr;      ///< [columns]; null: none
  ir::Kind bias_kind = ir::Kind::f32;
  void* c = nullptr;  ///< [rows, columns]
  ir::Kind c_kind = ir::Kind::f32;
  std::int64_t rows = 0, columns = 0;
};
void finish_product(const ProductEnd& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
