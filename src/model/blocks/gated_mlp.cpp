#include "model/blocks/gated_mlp.h"

#include "model/blocks/linear.h"

namespace parhelion::model {

ir::ValueId gated_mlp(const Scope& scope, ir::ValueId x, const GatedMlp& config) {
  const std::int64_t hidden = ir::number(scope.builder.type(x).shape.back());
  const Linear widen{config.intermediate, config.bias};
  const ir::ValueId gate = linear(child(scope, "gate_proj"), x, widen);
  const ir::ValueId up = linear(child(scope, "up_proj"), x, widen);
  const ir::ValueId product = add(scope, ir::Swiglu{}, {gate, up});
  return linear(child(scope, "down_proj"), product, {hidden, config.bias});
}

}  // namespace parhelion::model
