#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// y[i] = x[i] factor where noise16(seed, tag, i) >= threshold, else 0. y may be x; both are
/// aligned to 16 bytes.
struct Dropout {
  ir::Kind kind = ir::Kind::f32;        ///< f32 or bf16, of both
  const void* x = nullptr;              ///< [count]
  const std::uint64_t* seed = nullptr;  ///< []
  void* y = nullptr;                    ///< [count]
  std::int64_t count = 0;
  std::int64_t tag = 0;
  std::uint32_t threshold = 0;  ///< of 65536
  float factor = 1.0f;
};
void dropout(const Dropout& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
