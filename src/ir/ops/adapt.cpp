#include "ir/ops/adapt.h"

#include "ir/autodiff/gradient_context.h"
#include "ir/checks.h"

namespace parhelion::ir {

Traits traits(const Scale&) { return {.family = 34, .name = "scale"}; }

std::vector<Factor> factors(const Scale&, Types inputs) { return elementwise_factors(inputs, 1); }

std::vector<TensorType> infer(const Scale&, Types inputs) {
  check_arity("scale", inputs, 1);
  check_activation("scale C1", "x", inputs[0]);
  return {inputs[0]};
}

void gradient(const Scale& op, GradientContext& context) {
  if (context.wants(0)) context.give(0, context.one(op, {context.output_gradient(0)}));
}

Cost cost(const Scale&, Types inputs, Types outputs) { return streaming_cost(inputs, outputs, 1); }

Traits traits(const Dropout&) {
  return {.family = 35, .name = "dropout", .effect = Effect::random};
}

// An element is drawn by its number in the whole tensor, so no dim may be cut.
std::vector<Factor> factors(const Dropout&, Types inputs) {
  std::vector<Factor> result = elementwise_factors(inputs, 1);
  for (Factor& factor : result) factor.how = Fold::whole;
  return result;
}

std::vector<TensorType> infer(const Dropout& op, Types inputs) {
  check_arity("dropout", inputs, 2);
  check_activation("dropout C1", "x", inputs[0]);
  check_type("dropout C2", "seed", inputs[1], TensorType(Kind::u64, {}));
  ensure(op.probability >= 0 && op.probability < 1, ErrorKind::invalid,
         "dropout C3: probability is {}, expected [0, 1)", op.probability);
  return {inputs[0]};
}

void gradient(const Dropout& op, GradientContext& context) {
  if (context.wants(0))
    context.give(0, context.one(op, {context.output_gradient(0), context.input(1)}));
}

Cost cost(const Dropout&, Types inputs, Types outputs) {
  return streaming_cost(inputs, outputs, 2);
}

}  // namespace parhelion::ir
