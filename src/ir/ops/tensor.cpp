#include "ir/ops/tensor.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

Traits traits(const Fill&) { return {.family = 22, .name = "fill"}; }

std::vector<Factor> factors(const Fill& op, Types) {
  std::vector<Factor> result;
  for (std::size_t dim = 0; dim < op.shape.size(); ++dim) {
    result.push_back({.input_dim = {}, .output_dim = {static_cast<std::int8_t>(dim)}});
  }
  return result;
}

std::vector<TensorType> infer(const Fill& op, Types inputs) {
  check_arity("fill", inputs, 0);
  TensorType y(op.kind, op.shape);
  check_activation("fill C1", "y", y);
  return {y};
}

void gradient(const Fill&, GradientContext&) {}

Cost cost(const Fill&, Types inputs, Types outputs) { return streaming_cost(inputs, outputs, 0); }

Traits traits(const Reshape&) { return {.family = 23, .name = "reshape"}; }

std::vector<Factor> factors(const Reshape& op, Types inputs) {
  std::vector<Factor> result;
  for (std::size_t dim = 0; dim < inputs[0].rank(); ++dim) {
    result.push_back(
        {.input_dim = {static_cast<std::int8_t>(dim)}, .output_dim = {-1}, .how = Fold::whole});
  }
  for (std::size_t dim = 0; dim < op.shape.size(); ++dim) {
    result.push_back(
        {.input_dim = {-1}, .output_dim = {static_cast<std::int8_t>(dim)}, .how = Fold::whole});
  }
  return result;
}

std::vector<TensorType> infer(const Reshape& op, Types inputs) {
  check_arity("reshape", inputs, 1);
  const Dim count = element_count(inputs[0].shape);
  const Dim expected = element_count(op.shape);
  ensure(count == expected, ErrorKind::invalid, "reshape C1: x has {} elements, shape {} has {}",
         to_string(count), to_string(op.shape), to_string(expected));
  TensorType y = inputs[0];
  y.shape = op.shape;
  return {y};
}

void gradient(const Reshape&, GradientContext& context) {
  if (!context.wants(0)) return;
  context.give(
      0, context.one(Reshape{context.type(context.input(0)).shape}, {context.output_gradient(0)}));
}

Cost cost(const Reshape&, Types, Types) { return {}; }

}  // namespace parhelion::ir
