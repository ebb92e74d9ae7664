#include "ir/ops/mat_mul.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {
namespace {

/// The dims of the product, read through the transposes.
struct MatMulDims {
  Dim m, n, k;
};

MatMulDims mat_mul_dims(const MatMul& op, Types inputs) {
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  return {op.transpose_a ? a[1] : a[0], op.transpose_b ? b[0] : b[1], op.transpose_a ? a[0] : a[1]};
}

std::size_t mat_mul_arity(const MatMul& op) {
  return 2u + (op.bias ? 1u : 0u) + (op.accumulate ? 1u : 0u);
}

void mat_mul_operand_gradient(const MatMul& op, GradientContext& context, ValueId dy) {
  const ValueId a = context.input(0);
  const ValueId b = context.input(1);
  const Kind kind = context.type(a).kind();
  const MatMul rule = op.transpose_a
                          ? MatMul{.transpose_a = op.transpose_b, .transpose_b = true, .out = kind}
                          : MatMul{.transpose_b = !op.transpose_b, .out = kind};
  context.give(0, op.transpose_a ? context.one(rule, {b, dy}) : context.one(rule, {dy, b}));
}

void mat_mul_weight_gradient(const MatMul& op, GradientContext& context, ValueId dy) {
  const ValueId a = context.input(0);
  MatMul rule = op.transpose_b ? MatMul{.transpose_a = true, .transpose_b = op.transpose_a}
                               : MatMul{.transpose_a = !op.transpose_a};
  rule.accumulate = true;
  const ValueId left = op.transpose_b ? dy : a;
  const ValueId right = op.transpose_b ? a : dy;
  context.advance(1, context.one(rule, {left, right, context.chain(1)}));
}

}  // namespace

Traits traits(const MatMul& op) {
  Traits result{.family = 1, .name = "matmul"};
  if (op.accumulate) {
    result.ties = {{.input = static_cast<std::int8_t>(mat_mul_arity(op) - 1), .output = 0}};
    result.effect = Effect::state;
  }
  return result;
}

std::vector<Factor> factors(const MatMul& op, Types) {
  const std::int8_t a_row = op.transpose_a ? 1 : 0;
  const std::int8_t b_row = op.transpose_b ? 1 : 0;
  const auto a_column = static_cast<std::int8_t>(1 - a_row);
  const auto b_column = static_cast<std::int8_t>(1 - b_row);
  Factor m{.input_dim = {a_row, -1}, .output_dim = {0}};
  Factor n{.input_dim = {-1, b_column}, .output_dim = {1}};
  Factor k{.input_dim = {a_column, b_row}, .output_dim = {-1}, .how = Fold::sum, .fold_block = 256};
  const auto extend = [&](std::int8_t m_dim, std::int8_t n_dim) {
    m.input_dim.push_back(m_dim);
    n.input_dim.push_back(n_dim);
    k.input_dim.push_back(-1);
  };
  if (op.bias) extend(-1, 0);
  if (op.accumulate) extend(0, 1);
  return {m, n, k};
}

std::vector<TensorType> infer(const MatMul& op, Types inputs) {
  check_arity("matmul", inputs, mat_mul_arity(op));
  check_rank("matmul C1", "a", inputs[0], 2);
  check_rank("matmul C1", "b", inputs[1], 2);
  const MatMulDims dims = mat_mul_dims(op, inputs);
  const Dim b_k = inputs[1].shape[op.transpose_b ? 1 : 0];
  ensure(b_k == dims.k, ErrorKind::invalid, "matmul C2: b contracts {}, expected {}",
         to_string(b_k), to_string(dims.k));
  check_activation("matmul C3", "a", inputs[0]);
  check_activation("matmul C3", "b", inputs[1]);
  ensure(!(op.bias && op.accumulate), ErrorKind::invalid,
         "matmul C6: has bias and accumulate, expected one");
  TensorType y(op.out, {dims.m, dims.n});
  check_activation("matmul C3", "y", y);
  if (op.bias) {
    check_activation("matmul C4", "bias", inputs[2]);
    check_shape("matmul C4", "bias", inputs[2], {dims.n});
  }
  if (op.accumulate) {
    check_kind("matmul C5", "y", y, Kind::f32);
    check_type("matmul C5", "accumulator", inputs[2], y);
  }
  return {y};
}

void gradient(const MatMul& op, GradientContext& context) {
  const ValueId dy = context.output_gradient(0);
  if (context.wants(0)) mat_mul_operand_gradient(op, context, dy);
  if (context.wants(1)) mat_mul_weight_gradient(op, context, dy);
  if (op.bias && context.wants(2))
    context.advance(2, context.one(AccumulateRows{}, {dy, context.chain(2)}));
}

Cost cost(const MatMul& op, Types inputs, Types outputs) {
  const MatMulDims dims = mat_mul_dims(op, inputs);
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = 2.0 * static_cast<double>(number(dims.m)) * static_cast<double>(number(dims.n)) *
                 static_cast<double>(number(dims.k));
  return result;
}

}  // namespace parhelion::ir
