#pragma once

#include <cstddef>
#include <cstdint>

namespace parhelion::exec::cpu {

/// Draws one id per row of logits. Every setting is an operand per row.
///
/// 1. temperature 0 or top_k 1: the largest logit, the lowest id of equal ones.
/// 2. Else weight w[c] = exp((x[c] - max) / temperature); min_p keeps w >= min_p;
/// 3. top_k keeps the k largest weights (0 or less: all), equal ones by lower id;
/// 4. top_p keeps the fewest largest ones whose weight reaches top_p of what is left, at least one
///    (1 or more: all);
/// 5. the first id, ascending, whose running weight passes uniform(seed, offset) times the total.
/// Weights add up in f64. A row with a NaN or without a finite maximum gives id -1 and -infinity.
struct Sampling {
  const float* logits = nullptr;          ///< [rows, vocabulary]
  const float* temperature = nullptr;     ///< [rows], 0 or more
  const std::int32_t* top_k = nullptr;    ///< [rows]
  const float* top_p = nullptr;           ///< [rows]
  const float* min_p = nullptr;           ///< [rows]
  const std::uint64_t* seed = nullptr;    ///< [rows]
  const std::uint64_t* offset = nullptr;  ///< [rows], the draw's number within its seed
  std::int32_t* ids = nullptr;            ///< [rows]
  float* log_probability =
      nullptr;  ///< [rows], of the id under the unscaled logits, lse by the fold
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
};
void sample(const Sampling& args, void* scratch, int threads);

/// Bytes that sample needs, aligned to 8.
std::size_t sample_scratch_bytes(std::int64_t rows, std::int64_t vocabulary, int threads);

}  // namespace parhelion::exec::cpu
