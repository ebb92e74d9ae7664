#include "ir/ops/step.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

#include <array>

namespace parhelion::ir {

Traits traits(const Accumulate&) {
  return {.family = 30,
          .name = "accumulate",
          .ties = {{.input = 1, .output = 0}},
          .effect = Effect::state};
}

std::vector<Factor> factors(const Accumulate&, Types inputs) {
  return elementwise_factors(inputs, 1);
}

std::vector<TensorType> infer(const Accumulate&, Types inputs) {
  check_arity("accumulate", inputs, 2);
  check_activation("accumulate C1", "x", inputs[0]);
  check_type("accumulate C2", "sum", inputs[1], TensorType(Kind::f32, inputs[0].shape));
  return {inputs[1]};
}

void gradient(const Accumulate&, GradientContext&) {
  fail(ErrorKind::invalid, "accumulate: has no gradient");
}

Cost cost(const Accumulate&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 1);
}

Traits traits(const Clear&) {
  return {
      .family = 31, .name = "clear", .ties = {{.input = 0, .output = 0}}, .effect = Effect::state};
}

std::vector<Factor> factors(const Clear&, Types inputs) { return elementwise_factors(inputs, 1); }

std::vector<TensorType> infer(const Clear&, Types inputs) {
  check_arity("clear", inputs, 1);
  check_kind("clear C1", "x", inputs[0], Kind::f32);
  return {inputs[0]};
}

void gradient(const Clear&, GradientContext&) {
  fail(ErrorKind::invalid, "clear: has no gradient");
}

Cost cost(const Clear&, Types, Types outputs) { return streaming_cost({}, outputs, 0); }

Traits traits(const SquaredNorm&) { return {.family = 32, .name = "squared_norm"}; }

std::vector<Factor> factors(const SquaredNorm&, Types inputs) {
  std::vector<Factor> result;
  for (std::size_t dim = 0; dim < inputs[0].rank(); ++dim) {
    result.push_back({.input_dim = {static_cast<std::int8_t>(dim)},
                      .output_dim = {-1},
                      .how = Fold::sum,
                      .fold_block = kSquaredNormBlock});
  }
  return result;
}

std::vector<TensorType> infer(const SquaredNorm&, Types inputs) {
  check_arity("squared_norm", inputs, 1);
  check_kind("squared_norm C1", "x", inputs[0], Kind::f32);
  return {TensorType(Kind::f32, {})};
}

void gradient(const SquaredNorm&, GradientContext&) {
  fail(ErrorKind::invalid, "squared_norm: has no gradient");
}

Cost cost(const SquaredNorm&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = 2.0 * static_cast<double>(element_count(inputs[0]));
  return result;
}

Traits traits(const StepScale&) { return {.family = 33, .name = "step_scale"}; }

std::vector<Factor> factors(const StepScale&, Types) { return {}; }

std::vector<TensorType> infer(const StepScale& op, Types inputs) {
  check_arity("step_scale", inputs, 3);
  constexpr std::array<std::string_view, 3> kNames = {"loss_sum", "weight", "squared_norm"};
  const TensorType number(Kind::f32, {});
  for (std::size_t i = 0; i < kNames.size(); ++i)
    check_type("step_scale C1", kNames[i], inputs[i], number);
  ensure(op.max_norm >= 0, ErrorKind::invalid, "step_scale C2: max_norm is {}, expected at least 0",
         op.max_norm);
  return {number, number, number, TensorType(Kind::bool8, {})};
}

void gradient(const StepScale&, GradientContext&) {
  fail(ErrorKind::invalid, "step_scale: has no gradient");
}

Cost cost(const StepScale&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 8);
}

}  // namespace parhelion::ir
