#include "ir/ops/elementwise.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

std::string_view name(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::add:
      return "add";
    case BinaryFunction::multiply:
      return "multiply";
  }
  return "unknown";
}

Traits traits(const Binary&) { return {.family = 17, .name = "binary"}; }

std::vector<Factor> factors(const Binary&, Types inputs) { return elementwise_factors(inputs, 1); }

std::vector<TensorType> infer(const Binary&, Types inputs) {
  check_arity("binary", inputs, 2);
  check_activation("binary C1", "a", inputs[0]);
  check_type("binary C2", "b", inputs[1], inputs[0]);
  return {inputs[0]};
}

void gradient(const Binary& op, GradientContext& context) {
  const ValueId dy = context.output_gradient(0);
  const bool product = op.function == BinaryFunction::multiply;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!context.wants(i)) continue;
    context.give(i, product ? context.one(op, {dy, context.input(1 - i)}) : dy);
  }
}

Cost cost(const Binary&, Types inputs, Types outputs) { return streaming_cost(inputs, outputs, 1); }

Traits traits(const Cast&) { return {.family = 18, .name = "cast"}; }

std::vector<Factor> factors(const Cast&, Types inputs) { return elementwise_factors(inputs, 1); }

std::vector<TensorType> infer(const Cast& op, Types inputs) {
  check_arity("cast", inputs, 1);
  check_activation("cast C1", "x", inputs[0]);
  TensorType y(op.to, inputs[0].shape);
  check_activation("cast C2", "y", y);
  return {y};
}

void gradient(const Cast&, GradientContext& context) {
  if (!context.wants(0)) return;
  context.give(
      0, context.one(Cast{context.type(context.input(0)).kind()}, {context.output_gradient(0)}));
}

Cost cost(const Cast&, Types inputs, Types outputs) { return streaming_cost(inputs, outputs, 0); }

}  // namespace parhelion::ir
