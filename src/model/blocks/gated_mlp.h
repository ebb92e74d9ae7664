#pragma once

#include "model/blocks/scope.h"

#include <cstdint>

namespace parhelion::model {

/// The feed-forward part of a layer.
struct GatedMlp {
  std::int64_t intermediate = 0;
  bool bias = false;
};

/// down_proj(silu(gate_proj(x)) * up_proj(x)).
///
/// Shapes: x and result [tokens, hidden]
/// Source: Shazeer 2020, arXiv:2002.05202
ir::ValueId gated_mlp(const Scope& scope, ir::ValueId x, const GatedMlp& config);

}  // namespace parhelion::model
