#include "ir/ops/cross_entropy.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {
namespace {

double linear_flops(Types inputs) {
  return 2.0 * static_cast<double>(element_count(inputs[0])) *
         static_cast<double>(number(inputs[1].shape[0]));
}

}  // namespace

void check_linear_cross_entropy(std::string_view family, Types inputs) {
  const auto label = [&](int check) { return fmt::format("{} C{}", family, check); };
  check_rank(label(1), "hidden", inputs[0], 2);
  check_rank(label(1), "weight", inputs[1], 2);
  check_activation(label(1), "hidden", inputs[0]);
  check_activation(label(1), "weight", inputs[1]);
  check_shape(label(2), "weight", inputs[1], {inputs[1].shape[0], inputs[0].shape[1]});
  check_type(label(3), "labels", inputs[2], TensorType(Kind::i32, {inputs[0].shape[0]}));
}

Traits traits(const LinearCrossEntropy&) { return {.family = 24, .name = "linear_cross_entropy"}; }

std::vector<Factor> factors(const LinearCrossEntropy&, Types) {
  return {{.input_dim = {0, -1, 0}, .output_dim = {0, 0}},
          {.input_dim = {-1, 0, -1},
           .output_dim = {-1, -1},
           .how = Fold::sum,
           .fold_block = kVocabularyBlock},
          {.input_dim = {1, 1, -1}, .output_dim = {-1, -1}, .how = Fold::sum, .fold_block = 256}};
}

std::vector<TensorType> infer(const LinearCrossEntropy&, Types inputs) {
  check_arity("linear_cross_entropy", inputs, 3);
  check_linear_cross_entropy("linear_cross_entropy", inputs);
  const TensorType row(Kind::f32, {inputs[0].shape[0]});
  return {row, row};
}

void gradient(const LinearCrossEntropy&, GradientContext& context) {
  if (!context.wants(0) && !context.wants(1)) return;
  std::vector<ValueId> inputs = {context.input(0), context.input(1), context.input(2),
                                 context.output(1), context.output_gradient(0)};
  if (context.wants(1)) inputs.push_back(context.chain(1));
  const auto gradients =
      context.add(LinearCrossEntropyGrad{.accumulate = context.wants(1)}, inputs);
  if (context.wants(0)) context.give(0, gradients[0]);
  if (context.wants(1)) context.advance(1, gradients[1]);
}

Cost cost(const LinearCrossEntropy&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = linear_flops(inputs);
  return result;
}

Traits traits(const LinearCrossEntropyGrad& op) {
  Traits result{.family = 25, .name = "linear_cross_entropy_grad"};
  if (op.accumulate) {
    result.ties = {{.input = 5, .output = 1}};
    result.effect = Effect::state;
  }
  return result;
}

// Tokens are folded only where their sum is asked for.
std::vector<Factor> factors(const LinearCrossEntropyGrad& op, Types) {
  Factor token{.input_dim = {0, -1, 0, 0, 0}, .output_dim = {0}};
  Factor vocabulary{
      .input_dim = {-1, 0, -1, -1, -1}, .output_dim = {-1}, .how = Fold::sum, .fold_block = 256};
  Factor hidden{
      .input_dim = {1, 1, -1, -1, -1}, .output_dim = {1}, .how = Fold::sum, .fold_block = 256};
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

std::vector<TensorType> infer(const LinearCrossEntropyGrad& op, Types inputs) {
  check_arity("linear_cross_entropy_grad", inputs, op.accumulate ? 6 : 5);
  check_linear_cross_entropy("linear_cross_entropy_grad", inputs);
  const TensorType row(Kind::f32, {inputs[0].shape[0]});
  check_type("linear_cross_entropy_grad C4", "lse", inputs[3], row);
  check_type("linear_cross_entropy_grad C4", "dloss", inputs[4], row);
  if (!op.accumulate) return {inputs[0]};
  check_type("linear_cross_entropy_grad C5", "acc", inputs[5],
             TensorType(Kind::f32, inputs[1].shape));
  return {inputs[0], inputs[5]};
}

void gradient(const LinearCrossEntropyGrad&, GradientContext&) {
  fail(ErrorKind::bug, "linear_cross_entropy_grad: has no gradient");
}

Cost cost(const LinearCrossEntropyGrad& op, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = (op.accumulate ? 3.0 : 2.0) * linear_flops(inputs);
  return result;
}

Traits traits(const LogProbability&) { return {.family = 26, .name = "log_probability"}; }

std::vector<Factor> factors(const LogProbability&, Types) {
  return {
      {.input_dim = {0, 0}, .output_dim = {0}},
      {.input_dim = {1, -1}, .output_dim = {-1}, .how = Fold::sum, .fold_block = kVocabularyBlock}};
}

std::vector<TensorType> infer(const LogProbability&, Types inputs) {
  check_arity("log_probability", inputs, 2);
  check_rank("log_probability C1", "logits", inputs[0], 2);
  check_kind("log_probability C1", "logits", inputs[0], Kind::f32);
  check_type("log_probability C2", "ids", inputs[1], TensorType(Kind::i32, {inputs[0].shape[0]}));
  return {TensorType(Kind::f32, {inputs[0].shape[0]})};
}

void gradient(const LogProbability&, GradientContext&) {
  fail(ErrorKind::invalid, "log_probability: has no gradient, train through linear_cross_entropy");
}

Cost cost(const LogProbability&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = 2.0 * static_cast<double>(element_count(inputs[0]));
  return result;
}

}  // namespace parhelion::ir
