#include "model/blocks/linear.h"

namespace parhelion::model {

ir::ValueId linear(const Scope& scope, ir::ValueId x, const Linear& config) {
  const ir::Dim inputs = scope.builder.type(x).shape.back();
  std::vector<ir::ValueId> operands{x, parameter(scope, "weight", {config.outputs, inputs})};
  if (config.bias) operands.push_back(parameter(scope, "bias", {config.outputs}));
  return add(scope, ir::MatMul{.transpose_b = true, .bias = config.bias, .out = scope.kind},
             operands);
}

ir::ValueId rms_norm(const Scope& scope, ir::ValueId x, double eps) {
  const ir::Dim width = scope.builder.type(x).shape.back();
  return add(scope, ir::RmsNorm{eps}, {x, parameter(scope, "weight", {width})});
}

}  // namespace parhelion::model
