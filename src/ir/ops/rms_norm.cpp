#include "ir/ops/rms_norm.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {
namespace {

std::int8_t last_dim(const TensorType& type) { return static_cast<std::int8_t>(type.rank() - 1); }

/// Leading dims of x are parallel; the last is folded. `rows` says which operands have x's shape.
std::vector<Factor> norm_factors(const TensorType& x, const std::vector<bool>& input_rows,
                                 std::size_t outputs) {
  std::vector<Factor> result;
  for (std::int8_t dim = 0; dim <= last_dim(x); ++dim) {
    const bool last = dim == last_dim(x);
    Factor factor{.how = last ? Fold::whole : Fold::parallel};
    for (const bool rows : input_rows) {
      factor.input_dim.push_back(rows ? dim : static_cast<std::int8_t>(last ? 0 : -1));
    }
    factor.output_dim.assign(outputs, dim);
    result.push_back(std::move(factor));
  }
  return result;
}

void check_norm(std::string_view family, const TensorType& x, const TensorType& w, double eps) {
  const auto label = [&](int check) { return fmt::format("{} C{}", family, check); };
  ensure(x.rank() >= 1, ErrorKind::invalid, "{}: rank(x) is 0, expected at least 1", label(1));
  check_activation(label(1), "x", x);
  check_shape(label(2), "w", w, {x.shape.back()});
  check_kind(label(3), "w", w, x.kind());
  ensure(eps > 0, ErrorKind::invalid, "{}: eps is {}, expected > 0", label(4), eps);
}

}  // namespace

Traits traits(const RmsNorm&) { return {.family = 4, .name = "rms_norm"}; }

std::vector<Factor> factors(const RmsNorm&, Types inputs) {
  return norm_factors(inputs[0], {true, false}, 1);
}

std::vector<TensorType> infer(const RmsNorm& op, Types inputs) {
  check_arity("rms_norm", inputs, 2);
  check_norm("rms_norm", inputs[0], inputs[1], op.eps);
  return {inputs[0]};
}

void gradient(const RmsNorm& op, GradientContext& context) {
  const ValueId x = context.input(0);
  const ValueId dy = context.output_gradient(0);
  if (context.wants(0))
    context.give(0, context.one(RmsNormGradInput{op.eps}, {x, context.input(1), dy}));
  if (context.wants(1))
    context.advance(1, context.one(RmsNormGradWeight{op.eps}, {x, dy, context.chain(1)}));
}

Cost cost(const RmsNorm&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 4);
}

Traits traits(const RmsNormGradInput&) { return {.family = 5, .name = "rms_norm_grad_input"}; }

std::vector<Factor> factors(const RmsNormGradInput&, Types inputs) {
  return norm_factors(inputs[0], {true, false, true}, 1);
}

std::vector<TensorType> infer(const RmsNormGradInput& op, Types inputs) {
  check_arity("rms_norm_grad_input", inputs, 3);
  check_norm("rms_norm_grad_input", inputs[0], inputs[1], op.eps);
  check_type("rms_norm_grad_input C5", "dy", inputs[2], inputs[0]);
  return {inputs[0]};
}

void gradient(const RmsNormGradInput&, GradientContext&) {
  fail(ErrorKind::bug, "rms_norm_grad_input: has no gradient");
}

Cost cost(const RmsNormGradInput&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 10);
}

Traits traits(const RmsNormGradWeight&) {
  return {.family = 6,
          .name = "rms_norm_grad_weight",
          .ties = {{.input = 2, .output = 0}},
          .effect = Effect::state};
}

std::vector<Factor> factors(const RmsNormGradWeight&, Types inputs) {
  std::vector<Factor> result;
  for (std::int8_t dim = 0; dim < last_dim(inputs[0]); ++dim) {
    result.push_back(
        {.input_dim = {dim, dim, -1}, .output_dim = {-1}, .how = Fold::sum, .fold_block = 1});
  }
  const std::int8_t last = last_dim(inputs[0]);
  result.push_back({.input_dim = {last, last, 0}, .output_dim = {0}, .how = Fold::whole});
  return result;
}

std::vector<TensorType> infer(const RmsNormGradWeight& op, Types inputs) {
  check_arity("rms_norm_grad_weight", inputs, 3);
  ensure(op.eps > 0, ErrorKind::invalid, "rms_norm_grad_weight C4: eps is {}, expected > 0",
         op.eps);
  ensure(inputs[0].rank() >= 1, ErrorKind::invalid,
         "rms_norm_grad_weight C1: rank(x) is 0, expected at least 1");
  check_activation("rms_norm_grad_weight C1", "x", inputs[0]);
  check_type("rms_norm_grad_weight C2", "dy", inputs[1], inputs[0]);
  check_type("rms_norm_grad_weight C3", "acc", inputs[2],
             TensorType(Kind::f32, {inputs[0].shape.back()}));
  return {inputs[2]};
}

void gradient(const RmsNormGradWeight&, GradientContext&) {
  fail(ErrorKind::bug, "rms_norm_grad_weight: has no gradient");
}

Cost cost(const RmsNormGradWeight&, Types inputs, Types outputs) {
  Cost result = streaming_cost(inputs, outputs, 0);
  result.flops = 5.0 * static_cast<double>(element_count(inputs[0]));
  return result;
}

Traits traits(const AddRmsNorm&) { return {.family = 7, .name = "add_rms_norm"}; }

std::vector<Factor> factors(const AddRmsNorm&, Types inputs) {
  return norm_factors(inputs[0], {true, true, false}, 2);
}

std::vector<TensorType> infer(const AddRmsNorm& op, Types inputs) {
  check_arity("add_rms_norm", inputs, 3);
  check_type("add_rms_norm C1", "r", inputs[1], inputs[0]);
  check_norm("add_rms_norm", inputs[0], inputs[2], op.eps);
  return {inputs[0], inputs[0]};
}

void gradient(const AddRmsNorm&, GradientContext&) {
  fail(ErrorKind::bug, "add_rms_norm: is made by fusion after differentiation and has no gradient");
}

Cost cost(const AddRmsNorm&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 5);
}

}  // namespace parhelion::ir
