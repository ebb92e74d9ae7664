#pragma once

#include "model/blocks/context.h"

#include <cstdint>
#include <optional>

namespace parhelion::model {

/// Grouped-query attention of one layer.
struct GroupedAttention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  bool projection_bias = false;            ///< q_proj, k_proj, v_proj
  bool output_bias = false;                ///< o_proj
  std::optional<double> qk_norm_eps = {};  ///< RmsNorm of each query and key head before rotation
};

/// o_proj(attention(rope(norm(q_proj x)), rope(norm(k_proj x)), v_proj x)), scaled by
/// head_dim^-1/2.
///
/// Shapes: x and result [tokens, hidden]; rope_table f32[positions, head_dim]
/// Source: Ainslie et al. 2023, arXiv:2305.13245
ir::ValueId grouped_attention(const Scope& scope, ir::ValueId x, const GroupedAttention& config,
                              std::int64_t layer, ir::ValueId rope_table, Context& context);

}  // namespace parhelion::model
