#include "ir/ops/cross_entropy_step.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"
#include "ir/ops/cross_entropy.h"

namespace parhelion::ir {

Traits traits(const LinearCrossEntropyStep& op) {
  Traits result{.family = 36, .name = "linear_cross_entropy_step"};
  if (op.accumulate) {
    result.ties = {{.input = 4, .output = 2}};
    result.effect = Effect::state;
  }
  return result;
}

// Tokens are folded only where their sum is asked for.
std::vector<Factor> factors(const LinearCrossEntropyStep& op, Types) {
  Factor token{.input_dim = {0, -1, 0, 0}, .output_dim = {0, 0}};
  Factor vocabulary{.input_dim = {-1, 0, -1, -1},
                    .output_dim = {-1, -1},
                    .how = Fold::sum,
                    .fold_block = kVocabularyBlock};
  Factor hidden{
      .input_dim = {1, 1, -1, -1}, .output_dim = {-1, 1}, .how = Fold::sum, .fold_block = 256};
  if (!op.accumulate) return {token, vocabulary, hidden};
  token.how = Fold::sum;
  const auto extend = [](Factor& factor, std::int8_t dim) {
    factor.input_dim.push_back(dim);
    factor.output_dim.push_back(dim);
  };
  extend(token, -1);
  extend(vocabulary, 0);
  extend(hidden, 1);
  return {token, vocabulary, hidden};
}

std::vector<TensorType> infer(const LinearCrossEntropyStep& op, Types inputs) {
  check_arity("linear_cross_entropy_step", inputs, op.accumulate ? 5 : 4);
  check_linear_cross_entropy("linear_cross_entropy_step", inputs);
  const TensorType row(Kind::f32, {inputs[0].shape[0]});
  check_type("linear_cross_entropy_step C4", "dloss", inputs[3], row);
  if (!op.accumulate) return {row, inputs[0]};
  check_type("linear_cross_entropy_step C5", "acc", inputs[4],
             TensorType(Kind::f32, inputs[1].shape));
  return {row, inputs[0], inputs[4]};
}

void gradient(const LinearCrossEntropyStep&, GradientContext&) {
  fail(ErrorKind::bug, "linear_cross_entropy_step: has no gradient");
}

Cost cost(const LinearCrossEntropyStep& op, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = (op.accumulate ? 3.0 : 2.0) * 2.0 * static_cast<double>(element_count(inputs[0])) *
                 static_cast<double>(number(inputs[1].shape[0]));
  return result;
}

}  // namespace parhelion::ir
