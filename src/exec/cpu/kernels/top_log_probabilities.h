#pragma once

#include <cstdint>

namespace parhelion::exec::cpu {

/// The `count` largest logits of each row, descending, equal ones by lower id; log-probabilities by
/// the fold of log_sum_exp. Rows whose log-sum-exp is not finite, and places past the vocabulary,
/// give -1 and -infinity.
struct TopLogProbabilities {
  const float* logits = nullptr;     ///< [rows, vocabulary]
  std::int32_t* ids = nullptr;       ///< [rows, count]
  float* log_probability = nullptr;  ///< [rows, count]
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
  std::int64_t count = 0;
};
void top_log_probabilities(const TopLogProbabilities& args, int threads);

}  // namespace parhelion::exec::cpu
