#include "model/blocks/decoder.h"

#include "model/blocks/linear.h"

#include <fmt/format.h>

namespace parhelion::model {
namespace {

ir::ValueId residual(const Scope& scope, ir::ValueId x, ir::ValueId branch) {
  return add(scope, ir::Binary{ir::BinaryFunction::add}, {x, branch});
}

ir::ValueId decoder_layer(const Scope& scope, ir::ValueId x, const Decoder& config,
                          std::int64_t layer, ir::ValueId rope_table, Context& context) {
  const ir::ValueId mixer_input = rms_norm(child(scope, "input_layernorm"), x, config.norm_eps);
  const ir::ValueId mixed = grouped_attention(child(scope, "self_attn"), mixer_input,
                                              config.attention, layer, rope_table, context);
  const ir::ValueId middle = residual(scope, x, mixed);
  const ir::ValueId mlp_input =
      rms_norm(child(scope, "post_attention_layernorm"), middle, config.norm_eps);
  return residual(scope, middle, gated_mlp(child(scope, "mlp"), mlp_input, config.mlp));
}

}  // namespace

Backbone decoder(ir::Builder& builder, ir::Kind kind, const Decoder& config, Context& context) {
  const Scope model{builder, kind, "model"};
  const Scope embedding = child(model, "embed_tokens");
  const Scope head = config.tied_head ? embedding : Scope{builder, kind, "lm_head"};
  const ir::Shape table_shape{config.vocabulary, config.hidden};

  builder.set_layer(0);
  const ir::ValueId rope_table = builder.constant("rope_table", config.rope);
  ir::ValueId x = add(embedding, ir::Embedding{},
                      {context.token_ids(), parameter(embedding, "weight", table_shape)});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    builder.set_layer(static_cast<std::int32_t>(layer) + 1);
    x = decoder_layer(child(model, fmt::format("layers.{}", layer)), x, config, layer, rope_table,
                      context);
  }
  builder.set_layer(static_cast<std::int32_t>(config.layers) + 1);
  const ir::ValueId hidden = rms_norm(child(model, "norm"), x, config.norm_eps);
  builder.set_label("lm_head");
  return {hidden, parameter(head, "weight", table_shape)};
}

}  // namespace parhelion::model
