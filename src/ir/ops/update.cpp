#include "ir/ops/update.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {
namespace {

TensorType number_type() { return TensorType(Kind::f32, {}); }

void check_state(std::string_view label, std::string_view operand, const TensorType& type,
                 const Shape& shape) {
  check_activation(label, operand, type);
  check_shape(label, operand, type, shape);
}

void check_updated(std::string_view family, Types inputs) {
  check_activation(fmt::format("{} C1", family), "p", inputs[0]);
  check_type(fmt::format("{} C2", family), "g", inputs[1], TensorType(Kind::f32, inputs[0].shape));
}

void check_master(std::string_view label, Types inputs, std::size_t master) {
  check_type(label, "p", inputs[0], TensorType(Kind::bf16, inputs[0].shape));
  check_type(label, "w", inputs[master], TensorType(Kind::f32, inputs[0].shape));
}

void check_decay_rate(std::string_view operand, double rate) {
  ensure(rate >= 0 && rate < 1, ErrorKind::invalid, "adam_update C6: {} is {}, expected [0, 1)",
         operand, rate);
}

/// Every dim of the updated tensors is parallel; scalars and vectors of numbers take no part. Noise
/// is drawn by an element's number in the whole tensor, so then no dim may be cut.
std::vector<Factor> update_factors(Types inputs, std::size_t tensor_count, Rounding rounding) {
  std::vector<Factor> result;
  for (std::size_t dim = 0; dim < inputs[0].rank(); ++dim) {
    Factor factor{
        .input_dim = std::vector<std::int8_t>(inputs.size(), -1),
        .output_dim = std::vector<std::int8_t>(tensor_count - 1, static_cast<std::int8_t>(dim)),
        .how = rounding == Rounding::nearest ? Fold::parallel : Fold::whole};
    for (std::size_t i = 0; i < tensor_count; ++i)
      factor.input_dim[i] = static_cast<std::int8_t>(dim);
    result.push_back(std::move(factor));
  }
  return result;
}

/// All tensors but the gradient, the second of them, are updated: output i is a new version of
/// input i + 1, and p of itself.
std::vector<Tie> update_ties(std::size_t tensor_count) {
  std::vector<Tie> ties = {{.input = 0, .output = 0}};
  for (std::size_t i = 2; i < tensor_count; ++i) {
    ties.push_back(
        {.input = static_cast<std::int8_t>(i), .output = static_cast<std::int8_t>(i - 1)});
  }
  return ties;
}

std::vector<TensorType> updated_types(Types inputs, std::size_t tensor_count) {
  std::vector<TensorType> outputs = {inputs[0]};
  for (std::size_t i = 2; i < tensor_count; ++i) outputs.push_back(inputs[i]);
  return outputs;
}

}  // namespace

std::string_view name(Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest:
      return "nearest";
    case Rounding::stochastic:
      return "stochastic";
  }
  return "unknown";
}

std::size_t tensor_count(const AdamUpdate& op) {
  return 4 + std::size_t{op.amsgrad} + std::size_t{op.master};
}

Traits traits(const AdamUpdate& op) {
  return {.family = 28,
          .name = "adam_update",
          .ties = update_ties(tensor_count(op)),
          .effect = Effect::state};
}

std::vector<Factor> factors(const AdamUpdate& op, Types inputs) {
  return update_factors(inputs, tensor_count(op), op.rounding);
}

std::vector<TensorType> infer(const AdamUpdate& op, Types inputs) {
  const std::size_t tensors = tensor_count(op);
  check_arity("adam_update", inputs, tensors + 4);
  check_updated("adam_update", inputs);
  check_state("adam_update C3", "m", inputs[2], inputs[0].shape);
  check_type("adam_update C4", "v", inputs[3], inputs[2]);
  if (op.amsgrad) check_type("adam_update C4", "v_max", inputs[4], inputs[2]);
  check_type("adam_update C5", "scale", inputs[tensors], number_type());
  check_type("adam_update C5", "lr", inputs[tensors + 1], number_type());
  check_type("adam_update C5", "correction", inputs[tensors + 2], TensorType(Kind::f32, {2}));
  check_type("adam_update C5", "seed", inputs[tensors + 3], TensorType(Kind::u64, {}));
  check_decay_rate("beta1", op.beta1);
  check_decay_rate("beta2", op.beta2);
  ensure(op.eps > 0, ErrorKind::invalid, "adam_update C6: eps is {}, expected more than 0", op.eps);
  if (op.master) check_master("adam_update C7", inputs, tensors - 1);
  return updated_types(inputs, tensors);
}

void gradient(const AdamUpdate&, GradientContext&) {
  fail(ErrorKind::invalid, "adam_update: has no gradient");
}

Cost cost(const AdamUpdate&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 16);
}

std::size_t tensor_count(const SgdUpdate& op) {
  return 2 + std::size_t{op.momentum != 0} + std::size_t{op.master};
}

Traits traits(const SgdUpdate& op) {
  return {.family = 29,
          .name = "sgd_update",
          .ties = update_ties(tensor_count(op)),
          .effect = Effect::state};
}

std::vector<Factor> factors(const SgdUpdate& op, Types inputs) {
  return update_factors(inputs, tensor_count(op), op.rounding);
}

std::vector<TensorType> infer(const SgdUpdate& op, Types inputs) {
  const std::size_t tensors = tensor_count(op);
  check_arity("sgd_update", inputs, tensors + 4);
  check_updated("sgd_update", inputs);
  if (op.momentum != 0) check_state("sgd_update C3", "b", inputs[2], inputs[0].shape);
  check_type("sgd_update C4", "scale", inputs[tensors], number_type());
  check_type("sgd_update C4", "lr", inputs[tensors + 1], number_type());
  check_type("sgd_update C4", "gain", inputs[tensors + 2], number_type());
  check_type("sgd_update C4", "seed", inputs[tensors + 3], TensorType(Kind::u64, {}));
  ensure(op.momentum >= 0, ErrorKind::invalid, "sgd_update C5: momentum is {}, expected at least 0",
         op.momentum);
  if (op.master) check_master("sgd_update C6", inputs, tensors - 1);
  return updated_types(inputs, tensors);
}

void gradient(const SgdUpdate&, GradientContext&) {
  fail(ErrorKind::invalid, "sgd_update: has no gradient");
}

Cost cost(const SgdUpdate&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 8);
}

}  // namespace parhelion::ir
