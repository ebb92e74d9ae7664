#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// The `count` largest logits of each row, descending, equal ones by lower id, with the
/// log-probabilities that logit_rows gives, in one launch. Rows whose log-sum-exp is not finite,
/// and places past the vocabulary, give -1 and -infinity.
struct TopLogProbabilities {
  const float* logits = nullptr;     ///< [rows, vocabulary], aligned to 16
  std::int32_t* ids = nullptr;       ///< [rows, count]
  float* log_probability = nullptr;  ///< [rows, count]
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
  std::int64_t count = 0;  ///< at most 32
};
void top_log_probabilities(const TopLogProbabilities& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
