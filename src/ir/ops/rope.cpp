#include "ir/ops/rope.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

std::string_view name(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::none:
      return "none";
    case RopeScaling::linear:
      return "linear";
    case RopeScaling::by_wavelength:
      return "by_wavelength";
  }
  return "unknown";
}

Traits traits(const RopeTable&) { return {.family = 8, .name = "rope_table"}; }

std::vector<Factor> factors(const RopeTable&, Types) {
  return {{.input_dim = {}, .output_dim = {0}},
          {.input_dim = {}, .output_dim = {1}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const RopeTable& op, Types inputs) {
  check_arity("rope_table", inputs, 0);
  ensure(op.dim > 0 && op.dim % 2 == 0, ErrorKind::invalid,
         "rope_table C1: dim is {}, expected even and > 0", op.dim);
  ensure(op.positions > 0, ErrorKind::invalid, "rope_table C1: positions is {}, expected > 0",
         op.positions);
  ensure(op.theta > 0, ErrorKind::invalid, "rope_table C2: theta is {}, expected > 0", op.theta);
  ensure(op.factor > 0, ErrorKind::invalid, "rope_table C3: factor is {}, expected > 0", op.factor);
  const bool ordered =
      op.high_frequency > op.low_frequency && op.low_frequency > 0 && op.original_positions > 0;
  ensure(op.scaling != RopeScaling::by_wavelength || ordered, ErrorKind::invalid,
         "rope_table C4: low_frequency {}, high_frequency {}, original_positions {}, expected 0 < "
         "low < high and "
         "original_positions > 0",
         op.low_frequency, op.high_frequency, op.original_positions);
  return {TensorType(Kind::f32, {op.positions, op.dim})};
}

void gradient(const RopeTable&, GradientContext&) {}

Cost cost(const RopeTable&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 2);
}

Traits traits(const Rope&) { return {.family = 9, .name = "rope"}; }

std::vector<Factor> factors(const Rope&, Types) {
  return {{.input_dim = {0, 0, -1}, .output_dim = {0}},
          {.input_dim = {1, -1, -1}, .output_dim = {1}},
          {.input_dim = {2, -1, 1}, .output_dim = {2}, .how = Fold::whole},
          {.input_dim = {-1, -1, 0}, .output_dim = {-1}, .how = Fold::whole}};
}

std::vector<TensorType> infer(const Rope&, Types inputs) {
  check_arity("rope", inputs, 3);
  check_rank("rope C1", "x", inputs[0], 3);
  check_activation("rope C1", "x", inputs[0]);
  check_type("rope C2", "positions", inputs[1], TensorType(Kind::i32, {inputs[0].shape[0]}));
  check_rank("rope C3", "table", inputs[2], 2);
  check_type("rope C3", "table", inputs[2],
             TensorType(Kind::f32, {inputs[2].shape[0], inputs[0].shape[2]}));
  return {inputs[0]};
}

void gradient(const Rope& op, GradientContext& context) {
  if (!context.wants(0)) return;
  context.give(0, context.one(Rope{!op.inverse},
                              {context.output_gradient(0), context.input(1), context.input(2)}));
}

Cost cost(const Rope&, Types inputs, Types outputs) {
  return streaming_cost(inputs.first(2), outputs, 3);
}

}  // namespace parhelion::ir
