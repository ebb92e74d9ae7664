#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <span>

namespace parhelion::exec::cuda {

/// y = weight x of one row, bf16 with sums in f32. The launch may begin before the kernel ahead of
/// it has ended: it reads weights, which no kernel of the plan may write, and then waits.
struct Gemv {
  const void* weight = nullptr;  ///< [n, k] bf16, aligned to 16
  const void* x = nullptr;       ///< [k] bf16, aligned to 16
  void* y = nullptr;             ///< [n], of `y_kind`
  ir::Kind y_kind = ir::Kind::bf16;
  std::int64_t n = 0, k = 0;  ///< k % 8 = 0
};
void gemv(const Gemv& args, cudaStream_t stream);

inline constexpr std::size_t kMostGemvs = 4;

/// Up to kMostGemvs products of one x, which are alike but for weight, y and n, in one launch.
void gemvs(std::span<const Gemv> args, cudaStream_t stream);

/// y = swiglu(gate x, up x), both products rounded to bf16 first; else as Gemv.
struct GateUpGemv {
  const void* gate = nullptr;  ///< [n, k] bf16, aligned to 16
  const void* up = nullptr;    ///< [n, k] bf16, aligned to 16
  const void* x = nullptr;     ///< [k] bf16, aligned to 16
  void* y = nullptr;           ///< [n] bf16
  std::int64_t n = 0, k = 0;   ///< k % 8 = 0
};
void gate_up_gemv(const GateUpGemv& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
