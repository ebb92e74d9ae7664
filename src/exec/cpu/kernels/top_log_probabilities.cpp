#include "exec/cpu/kernels/top_log_probabilities.h"

#include "exec/cpu/kernels/log_sum_exp.h"
#include "exec/cpu/kernels/parallel.h"

#include <cmath>
#include <limits>

namespace parhelion::exec::cpu {
namespace {

/// Puts `id` behind those of `ids` whose logits are as large or larger; the last falls out where
/// `known` of them fill all places.
void insert_top_id(const float* logits, std::int32_t* ids, std::int64_t known, std::int64_t count,
                   std::int32_t id) {
  std::int64_t at = std::min(known, count - 1);
  for (; at > 0 && logits[ids[at - 1]] < logits[id]; --at) ids[at] = ids[at - 1];
  ids[at] = id;
}

/// The largest logits of a row without NaN; returns how many places they fill.
std::int64_t find_top_ids(const float* logits, std::int64_t vocabulary, std::int64_t count,
                          std::int32_t* ids) {
  std::int64_t known = 0;
  for (std::int64_t id = 0; id < vocabulary; ++id) {
    if (known == count && !(logits[id] > logits[ids[count - 1]])) continue;
    insert_top_id(logits, ids, known, count, static_cast<std::int32_t>(id));
    known = std::min(known + 1, count);
  }
  return known;
}

void top_log_probabilities_row(const TopLogProbabilities& args, std::int64_t r) {
  const float* logits = args.logits + r * args.vocabulary;
  std::int32_t* ids = args.ids + r * args.count;
  float* y = args.log_probability + r * args.count;
  const float lse = log_sum_exp(logits, args.vocabulary);
  const std::int64_t known =
      std::isfinite(lse) ? find_top_ids(logits, args.vocabulary, args.count, ids) : 0;
  for (std::int64_t i = 0; i < known; ++i) y[i] = logits[ids[i]] - lse;
  std::fill(ids + known, ids + args.count, -1);
  std::fill(y + known, y + args.count, -std::numeric_limits<float>::infinity());
}

}  // namespace

void top_log_probabilities(const TopLogProbabilities& args, int threads) {
  parallel_ranges(args.rows, grain_of(4 * args.vocabulary), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) top_log_probabilities_row(args, r);
                  });
}

}  // namespace parhelion::exec::cpu
