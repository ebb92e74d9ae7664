#include "ir/ops/elementwise.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {
namespace {

void binary_multiply_gradient(GradientContext& context, ValueId dy) {
  const bool scalar = context.type(context.input(1)).rank() == 0;
  const Binary multiply{BinaryFunction::multiply};
  if (context.wants(0)) context.give(0, context.one(multiply, {dy, context.input(1)}));
  if (!context.wants(1)) return;
  ensure(!scalar, ErrorKind::invalid, "binary: a scalar factor has no gradient");
  context.give(1, context.one(multiply, {dy, context.input(0)}));
}

void binary_sum_gradient(const Binary& op, GradientContext& context, ValueId dy) {
  if (context.wants(0)) context.give(0, dy);
  if (!context.wants(1)) return;
  ensure(context.type(context.input(1)).rank() != 0 || context.type(context.input(0)).rank() == 0,
         ErrorKind::invalid, "binary: a scalar term has no gradient");
  if (op.function == BinaryFunction::add) {
    context.give(1, dy);
    return;
  }
  const TensorType& type = context.type(dy);
  const ValueId minus_one = context.one(Fill{-1.0, type.kind(), {}}, {});
  context.give(1, context.one(Binary{BinaryFunction::multiply}, {dy, minus_one}));
}

}  // namespace

std::string_view name(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::add:
      return "add";
    case BinaryFunction::subtract:
      return "subtract";
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
  if (inputs[1].rank() == 0) {
    check_kind("binary C2", "b", inputs[1], inputs[0].kind());
  } else {
    check_type("binary C2", "b", inputs[1], inputs[0]);
  }
  return {inputs[0]};
}

void gradient(const Binary& op, GradientContext& context) {
  const ValueId dy = context.output_gradient(0);
  if (op.function == BinaryFunction::multiply) {
    binary_multiply_gradient(context, dy);
  } else {
    binary_sum_gradient(op, context, dy);
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
