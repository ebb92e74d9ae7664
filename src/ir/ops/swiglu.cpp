#include "ir/ops/swiglu.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

Traits traits(const Swiglu&) { return {.family = 14, .name = "swiglu"}; }

std::vector<Factor> factors(const Swiglu&, Types inputs) { return elementwise_factors(inputs, 1); }

std::vector<TensorType> infer(const Swiglu&, Types inputs) {
  check_arity("swiglu", inputs, 2);
  check_activation("swiglu C1", "gate", inputs[0]);
  check_type("swiglu C2", "up", inputs[1], inputs[0]);
  return {inputs[0]};
}

void gradient(const Swiglu&, GradientContext& context) {
  if (!context.wants(0) && !context.wants(1)) return;
  const auto gradients =
      context.add(SwigluGrad{}, {context.input(0), context.input(1), context.output_gradient(0)});
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.wants(i)) context.give(i, gradients[i]);
  }
}

Cost cost(const Swiglu&, Types inputs, Types outputs) { return streaming_cost(inputs, outputs, 5); }

Traits traits(const SwigluGrad&) { return {.family = 15, .name = "swiglu_grad"}; }

std::vector<Factor> factors(const SwigluGrad&, Types inputs) {
  return elementwise_factors(inputs, 2);
}

std::vector<TensorType> infer(const SwigluGrad&, Types inputs) {
  check_arity("swiglu_grad", inputs, 3);
  check_activation("swiglu_grad C1", "gate", inputs[0]);
  check_type("swiglu_grad C2", "up", inputs[1], inputs[0]);
  check_type("swiglu_grad C2", "dh", inputs[2], inputs[0]);
  return {inputs[0], inputs[0]};
}

void gradient(const SwigluGrad&, GradientContext&) {
  fail(ErrorKind::bug, "swiglu_grad: has no gradient");
}

Cost cost(const SwigluGrad&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 10);
}

Traits traits(const GateUp&) { return {.family = 16, .name = "gate_up"}; }

std::vector<Factor> factors(const GateUp&, Types) {
  return {{.input_dim = {0, -1, -1}, .output_dim = {0}},
          {.input_dim = {-1, 0, 0}, .output_dim = {1}},
          {.input_dim = {1, 1, 1}, .output_dim = {-1}, .how = Fold::sum, .fold_block = 256}};
}

std::vector<TensorType> infer(const GateUp&, Types inputs) {
  check_arity("gate_up", inputs, 3);
  check_rank("gate_up C1", "x", inputs[0], 2);
  check_rank("gate_up C1", "gate", inputs[1], 2);
  check_shape("gate_up C2", "gate", inputs[1], {inputs[1].shape[0], inputs[0].shape[1]});
  check_activation("gate_up C3", "x", inputs[0]);
  check_activation("gate_up C3", "gate", inputs[1]);
  check_type("gate_up C4", "up", inputs[2], inputs[1]);
  return {TensorType(inputs[0].kind(), {inputs[0].shape[0], inputs[1].shape[0]})};
}

void gradient(const GateUp&, GradientContext&) {
  fail(ErrorKind::bug, "gate_up: is made by fusion after differentiation and has no gradient");
}

Cost cost(const GateUp&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = 4.0 * static_cast<double>(element_count(outputs[0])) *
                 static_cast<double>(number(inputs[0].shape[1]));
  return result;
}

}  // namespace parhelion::ir
