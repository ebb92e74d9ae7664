#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// LinearCrossEntropy and LinearCrossEntropyGrad in one pass over the logits, which so are computed
/// once; `fuse_loss` makes it. Each output has the bits that the pair gives it.
///
/// Inputs   (I1) hidden   (I2) weight   (I3) labels   (I4) dloss: f32[t]
///          (I5) acc: f32[v, h], if `accumulate`; tied to O3
/// Outputs  (O1) loss: f32[t]   (O2) dhidden: type of hidden   (O3) f32[v, h], if `accumulate`
/// Checks   those of LinearCrossEntropy, (C4) dloss: f32[t]   (C5) acc: f32[v, h]
struct LinearCrossEntropyStep {
  bool accumulate = true;
  bool operator==(const LinearCrossEntropyStep&) const = default;
};
Traits traits(const LinearCrossEntropyStep& op);
std::vector<Factor> factors(const LinearCrossEntropyStep& op, Types inputs);
std::vector<TensorType> infer(const LinearCrossEntropyStep& op, Types inputs);
void gradient(const LinearCrossEntropyStep& op, GradientContext& context);
Cost cost(const LinearCrossEntropyStep& op, Types inputs, Types outputs);
constexpr auto fields(const LinearCrossEntropyStep*) {
  return std::tuple(field("accumulate", &LinearCrossEntropyStep::accumulate));
}

}  // namespace parhelion::ir
