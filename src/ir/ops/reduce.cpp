#include "ir/ops/reduce.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {
namespace {

Shape trailing(const Shape& shape, std::int64_t axis) {
  return {shape.begin() + axis, shape.end()};
}

/// Dims before `axis` are parallel, the others are folded.
std::vector<Factor> reduce_factors(std::size_t rank, std::int64_t axis, Fold how) {
  std::vector<Factor> result;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const auto at = static_cast<std::int8_t>(dim);
    if (at < axis) {
      result.push_back({.input_dim = {at}, .output_dim = {at}});
    } else {
      result.push_back({.input_dim = {at}, .output_dim = {-1}, .how = how});
    }
  }
  return result;
}

}  // namespace

std::string_view name(ReduceFunction function) {
  switch (function) {
    case ReduceFunction::sum:
      return "sum";
    case ReduceFunction::mean:
      return "mean";
    case ReduceFunction::max:
      return "max";
  }
  return "unknown";
}

Traits traits(const Reduce&) { return {.family = 19, .name = "reduce"}; }

std::vector<Factor> factors(const Reduce& op, Types inputs) {
  return reduce_factors(inputs[0].rank(), op.axis,
                        op.function == ReduceFunction::max ? Fold::max : Fold::sum);
}

std::vector<TensorType> infer(const Reduce& op, Types inputs) {
  check_arity("reduce", inputs, 1);
  check_kind("reduce C1", "x", inputs[0], Kind::f32);
  ensure(op.axis >= 0 && op.axis < static_cast<std::int64_t>(inputs[0].rank()), ErrorKind::invalid,
         "reduce C2: axis is {}, expected 0 to rank(x) - 1 = {}", op.axis,
         static_cast<std::int64_t>(inputs[0].rank()) - 1);
  return {TensorType(Kind::f32, Shape(inputs[0].shape.begin(), inputs[0].shape.begin() + op.axis))};
}

void gradient(const Reduce& op, GradientContext& context) {
  if (!context.wants(0)) return;
  ensure(op.function != ReduceFunction::max, ErrorKind::invalid, "reduce: max has no gradient");
  const Broadcast rule{trailing(context.type(context.input(0)).shape, op.axis),
                       op.function == ReduceFunction::mean};
  context.give(0, context.one(rule, {context.output_gradient(0)}));
}

Cost cost(const Reduce&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = static_cast<double>(element_count(inputs[0]));
  return result;
}

Traits traits(const Broadcast&) { return {.family = 20, .name = "broadcast"}; }

std::vector<Factor> factors(const Broadcast& op, Types inputs) {
  std::vector<Factor> result = elementwise_factors(inputs, 1);
  for (std::size_t i = 0; i < op.shape.size(); ++i) {
    const auto dim = static_cast<std::int8_t>(inputs[0].rank() + i);
    // A mean divides by the extents of the new dims, so it needs all of them.
    result.push_back(
        {.input_dim = {-1}, .output_dim = {dim}, .how = op.mean ? Fold::whole : Fold::parallel});
  }
  return result;
}

std::vector<TensorType> infer(const Broadcast& op, Types inputs) {
  check_arity("broadcast", inputs, 1);
  check_kind("broadcast C1", "x", inputs[0], Kind::f32);
  TensorType y = inputs[0];
  y.shape.insert(y.shape.end(), op.shape.begin(), op.shape.end());
  return {y};
}

void gradient(const Broadcast& op, GradientContext& context) {
  if (!context.wants(0)) return;
  const auto axis = static_cast<std::int64_t>(context.type(context.input(0)).rank());
  const ReduceFunction function = op.mean ? ReduceFunction::mean : ReduceFunction::sum;
  context.give(0, context.one(Reduce{function, axis}, {context.output_gradient(0)}));
}

Cost cost(const Broadcast&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 0);
}

Traits traits(const AccumulateRows&) {
  return {.family = 21,
          .name = "accumulate_rows",
          .ties = {{.input = 1, .output = 0}},
          .effect = Effect::state};
}

std::vector<Factor> factors(const AccumulateRows&, Types) {
  return {{.input_dim = {0, -1}, .output_dim = {-1}, .how = Fold::sum, .fold_block = 1},
          {.input_dim = {1, 0}, .output_dim = {0}}};
}

std::vector<TensorType> infer(const AccumulateRows&, Types inputs) {
  check_arity("accumulate_rows", inputs, 2);
  check_rank("accumulate_rows C1", "dy", inputs[0], 2);
  check_activation("accumulate_rows C1", "dy", inputs[0]);
  check_type("accumulate_rows C2", "acc", inputs[1], TensorType(Kind::f32, {inputs[0].shape[1]}));
  return {inputs[1]};
}

void gradient(const AccumulateRows&, GradientContext&) {
  fail(ErrorKind::bug, "accumulate_rows: has no gradient");
}

Cost cost(const AccumulateRows&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = static_cast<double>(element_count(inputs[0]));
  return result;
}

}  // namespace parhelion::ir
