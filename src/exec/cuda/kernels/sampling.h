#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Draws one id per row of logits in one launch, by the rules of the CPU's kernel: greedy at
/// temperature 0 or top_k 1, else min_p, top_k, top_p, and a draw by uniform(seed, offset).
///
/// Larger logits come first, equal ones by lower id. Weights add up as integers of 2^-44, so that
/// no order of additions matters.
struct Sampling {
  const float* logits = nullptr;          ///< [rows, vocabulary]
  const float* temperature = nullptr;     ///< [rows]
  const std::int32_t* top_k = nullptr;    ///< [rows]
  const float* top_p = nullptr;           ///< [rows]
  const float* min_p = nullptr;           ///< [rows]
  const std::uint64_t* seed = nullptr;    ///< [rows]
  const std::uint64_t* offset = nullptr;  ///< [rows]
  std::int32_t* ids = nullptr;            ///< [rows]
  float* log_probability = nullptr;       ///< [rows]
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
};
void sample(const Sampling& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
