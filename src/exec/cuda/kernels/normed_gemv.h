#pragma once

#include "exec/cuda/kernels/gemv.h"

#include <cstdint>
#include <cuda_runtime_api.h>
#include <span>

namespace parhelion::exec::cuda {

/// The row that products multiply: y = rms_norm(x), or of s = x + r, with the bits of rms_norm and
/// add_rms_norm. All are bf16 and aligned to 16 bytes. Weights of the norm are read as those of
/// products are, before the kernel ahead has ended. Nothing that is read may be written by the same
/// launch: every block reads all of x and r.
struct NormedRow {
  const void* x = nullptr;  ///< [k]
  const void* r = nullptr;  ///< [k]; null: nothing is added
  const void* w = nullptr;  ///< [k]
  void* s = nullptr;        ///< [k]; null where r is
  void* y = nullptr;        ///< [k]
  std::int64_t k = 0;
  float eps = 1e-6f;
};

/// Whether rows of k numbers can be normed in a block of a product.
bool has_normed_gemv(std::int64_t k);

/// gemvs and gate_up_gemv of y, with their bits, in one launch with the norm. `x` of products is
/// not read.
void normed_gemvs(const NormedRow& norm, std::span<const Gemv> args, cudaStream_t stream);
void normed_gate_up_gemv(const NormedRow& norm, const GateUpGemv& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
