#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// Draws one token a row: temperature 0 is greedy (lowest id wins ties), else logits / temperature,
/// min-p against the largest probability, top-k, then the smallest set of descending probability
/// with mass >= top-p, then a draw by a counter-based stream keyed by (seed, offset).
///
/// Inputs   (I1) logits: f32[r, v]   (I2) temperature: f32[r]   (I3) top_k: i32[r], 0 = off
///          (I4) top_p: f32[r]   (I5) min_p: f32[r]   (I6) seed: u64[r]   (I7) offset: u64[r]
/// Outputs  (O1) ids: i32[r], -1 where a row has no finite maximum
///          (O2) log_probability: f32[r], of the drawn id under the logits as they came
/// Checks   (C1) logits: f32, rank 2   (C2) each other operand: its dtype, [r]
struct Sample {
  bool operator==(const Sample&) const = default;
};
Traits traits(const Sample& op);
std::vector<Factor> factors(const Sample& op, Types inputs);
std::vector<TensorType> infer(const Sample& op, Types inputs);
void gradient(const Sample& op, GradientContext& context);
Cost cost(const Sample& op, Types inputs, Types outputs);
constexpr auto fields(const Sample*) { return std::tuple(); }

}  // namespace parhelion::ir
