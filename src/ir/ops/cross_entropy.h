#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// loss[t] = lse[t] - z[t, labels[t]], z = hidden weight^T in f32, lse = log of the sum of
/// exponentials of z[t, :]. Logits are never stored for all tokens. A label of -100 gives loss 0.
///
/// Inputs   (I1) hidden: [t, h]   (I2) weight: [v, h]   (I3) labels: i32[t]
/// Outputs  (O1) loss: f32[t]   (O2) lse: f32[t]
/// Checks   (C1) hidden, weight: rank 2, f32 or bf16   (C2) columns are equal   (C3) labels: i32[t]
/// Numerics z as MatMul; lse in blocks of 4096 of the vocabulary, merged ascending, as in
///          LogProbability
/// Gradient LinearCrossEntropyGrad
struct LinearCrossEntropy {
  bool operator==(const LinearCrossEntropy&) const = default;
};
Traits traits(const LinearCrossEntropy& op);
std::vector<Factor> factors(const LinearCrossEntropy& op, Types inputs);
std::vector<TensorType> infer(const LinearCrossEntropy& op, Types inputs);
void gradient(const LinearCrossEntropy& op, GradientContext& context);
Cost cost(const LinearCrossEntropy& op, Types inputs, Types outputs);
constexpr auto fields(const LinearCrossEntropy*) { return std::tuple(); }

/// Checks (C1) to (C3) of LinearCrossEntropy, for the families that it is part of.
void check_linear_cross_entropy(std::string_view family, Types inputs);

/// Logits of one row that are folded alone before blocks are merged ascending.
inline constexpr std::int64_t kVocabularyBlock = 4096;

/// The gradient of LinearCrossEntropy: dz[t, j] = dloss[t] * (exp(z[t, j] - lse[t]) - [j =
/// labels[t]]), rounded to the dtype of hidden; dhidden = dz weight; acc += dz^T hidden, if
/// `accumulate`: a weight that is not trained has no sum. Ignored tokens give zero.
///
/// Inputs   (I1) hidden   (I2) weight   (I3) labels   (I4) lse: f32[t]   (I5) dloss: f32[t]
///          (I6) acc: f32[v, h], if `accumulate`; tied to O2
/// Outputs  (O1) dhidden: type of hidden   (O2) f32[v, h], if `accumulate`
/// Checks   those of LinearCrossEntropy, (C4) lse, dloss: f32[t]   (C5) acc: f32[v, h]
struct LinearCrossEntropyGrad {
  bool accumulate = true;
  bool operator==(const LinearCrossEntropyGrad&) const = default;
};
Traits traits(const LinearCrossEntropyGrad& op);
std::vector<Factor> factors(const LinearCrossEntropyGrad& op, Types inputs);
std::vector<TensorType> infer(const LinearCrossEntropyGrad& op, Types inputs);
void gradient(const LinearCrossEntropyGrad& op, GradientContext& context);
Cost cost(const LinearCrossEntropyGrad& op, Types inputs, Types outputs);
constexpr auto fields(const LinearCrossEntropyGrad*) {
  return std::tuple(field("accumulate", &LinearCrossEntropyGrad::accumulate));
}

/// y[r] = logits[r, ids[r]] - log of the sum of exponentials of logits[r, :]; 0 where ids[r] < 0.
///
/// Inputs   (I1) logits: f32[r, v]   (I2) ids: i32[r]
/// Output   (O1) f32[r]
/// Checks   (C1) logits: f32, rank 2   (C2) ids: i32[r]
/// Numerics blocks of 4096 of the vocabulary, merged ascending
struct LogProbability {
  bool operator==(const LogProbability&) const = default;
};
Traits traits(const LogProbability& op);
std::vector<Factor> factors(const LogProbability& op, Types inputs);
std::vector<TensorType> infer(const LogProbability& op, Types inputs);
void gradient(const LogProbability& op, GradientContext& context);
Cost cost(const LogProbability& op, Types inputs, Types outputs);
constexpr auto fields(const LogProbability*) { return std::tuple(); }

}  // namespace parhelion::ir
