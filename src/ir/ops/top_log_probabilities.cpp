#include "ir/ops/top_log_probabilities.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

Traits traits(const TopLogProbabilities&) {
  return {.family = 41, .name = "top_log_probabilities"};
}

std::vector<Factor> factors(const TopLogProbabilities&, Types) {
  return {{.input_dim = {0}, .output_dim = {0, 0}},
          {.input_dim = {1}, .output_dim = {-1, -1}, .how = Fold::whole},
          {.input_dim = {-1}, .output_dim = {1, 1}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const TopLogProbabilities& op, Types inputs) {
  check_arity("top_log_probabilities", inputs, 1);
  check_rank("top_log_probabilities C1", "logits", inputs[0], 2);
  check_kind("top_log_probabilities C1", "logits", inputs[0], Kind::f32);
  ensure(op.count >= 1 && op.count <= kMostTopLogProbabilities, ErrorKind::invalid,
         "top_log_probabilities C2: count is {}, expected 1 to {}", op.count,
         kMostTopLogProbabilities);
  const Shape shape = {inputs[0].shape[0], op.count};
  return {TensorType(Kind::i32, shape), TensorType(Kind::f32, shape)};
}

void gradient(const TopLogProbabilities&, GradientContext&) {
  fail(ErrorKind::invalid,
       "top_log_probabilities: has no gradient, train through linear_cross_entropy");
}

Cost cost(const TopLogProbabilities&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = 3.0 * static_cast<double>(element_count(inputs[0]));
  return result;
}

}  // namespace parhelion::ir
