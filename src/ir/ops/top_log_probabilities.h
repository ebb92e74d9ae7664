#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// The `count` largest logits of each row, descending, equal ones by lower id, and their
/// log-probabilities logits[r, id] - log of the sum of exponentials of logits[r, :].
///
/// A row with a NaN or without a finite maximum, and places that the vocabulary does not fill, give
/// id -1 and -infinity.
///
/// Inputs   (I1) logits: f32[r, v]
/// Outputs  (O1) ids: i32[r, count]   (O2) log_probability: f32[r, count]
/// Checks   (C1) logits: f32, rank 2   (C2) count in [1, 32]
/// Numerics as LogProbability, with the same bits for an id
struct TopLogProbabilities {
  std::int64_t count = 1;
  bool operator==(const TopLogProbabilities&) const = default;
};
Traits traits(const TopLogProbabilities& op);
std::vector<Factor> factors(const TopLogProbabilities& op, Types inputs);
std::vector<TensorType> infer(const TopLogProbabilities& op, Types inputs);
void gradient(const TopLogProbabilities& op, GradientContext& context);
Cost cost(const TopLogProbabilities& op, Types inputs, Types outputs);
constexpr auto fields(const TopLogProbabilities*) {
  return std::tuple(field("count", &TopLogProbabilities::count));
}

/// The largest count.
inline constexpr std::int64_t kMostTopLogProbabilities = 32;

}  // namespace parhelion::ir
