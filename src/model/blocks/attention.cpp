#include "model/blocks/attention.h"

#include "model/blocks/linear.h"

#include <fmt/format.h>

#include <cmath>

namespace parhelion::model {
namespace {

/// One of q, k, v: [tokens, heads, head_dim].
ir::ValueId project_heads(const Scope& scope, ir::ValueId x, std::string_view name,
                          std::int64_t heads, const GroupedAttention& config) {
  const ir::Dim tokens = scope.builder.type(x).shape.front();
  const Scope projection = child(scope, fmt::format("{}_proj", name));
  const ir::ValueId flat = linear(projection, x, {heads * config.head_dim, config.projection_bias});
  return add(projection, ir::Reshape{{tokens, heads, config.head_dim}}, {flat});
}

/// Queries or keys, normalised where asked and rotated.
ir::ValueId rotated_heads(const Scope& scope, ir::ValueId heads, std::string_view name,
                          const GroupedAttention& config, const std::vector<ir::ValueId>& rope) {
  if (config.qk_norm_eps)
    heads = rms_norm(child(scope, fmt::format("{}_norm", name)), heads, *config.qk_norm_eps);
  return add(scope, ir::Rope{}, {heads, rope[0], rope[1]});
}

}  // namespace

ir::ValueId grouped_attention(const Scope& scope, ir::ValueId x, const GroupedAttention& config,
                              std::int64_t layer, ir::ValueId rope_table, Context& context) {
  const ir::Dim tokens = scope.builder.type(x).shape.front();
  const std::int64_t hidden = ir::number(scope.builder.type(x).shape.back());
  const std::vector<ir::ValueId> rope{context.positions(), rope_table};
  // Products of one x follow each other, and so do the small ops after them: executors may join
  // either.
  const ir::ValueId query = project_heads(scope, x, "q", config.heads, config);
  const ir::ValueId key = project_heads(scope, x, "k", config.kv_heads, config);
  const ir::ValueId value = project_heads(scope, x, "v", config.kv_heads, config);
  const Heads heads{.query = rotated_heads(scope, query, "q", config, rope),
                    .key = rotated_heads(scope, key, "k", config, rope),
                    .value = value};
  const double scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  const ir::ValueId attended = context.attend(scope, layer, heads, scale);
  const ir::ValueId flat =
      add(scope, ir::Reshape{{tokens, config.heads * config.head_dim}}, {attended});
  return linear(child(scope, "o_proj"), flat, {hidden, config.output_bias});
}

}  // namespace parhelion::model
