#pragma once

#include "model/blocks/scope.h"

#include <cstdint>

namespace parhelion::model {

/// A projection to `outputs` features.
struct Linear {
  std::int64_t outputs = 0;
  bool bias = false;
};

/// y = x weight^T [+ bias], with parameters `weight` [outputs, inputs] and, if asked, `bias`.
///
/// Shapes: x [tokens, inputs], y [tokens, outputs]
ir::ValueId linear(const Scope& scope, ir::ValueId x, const Linear& config);

/// RmsNorm over the last dim of x, with the parameter `weight`.
ir::ValueId rms_norm(const Scope& scope, ir::ValueId x, double eps);

}  // namespace parhelion::model
