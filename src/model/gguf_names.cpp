#include "model/gguf_names.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace parhelion::model {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;  // ours, GGUF's

constexpr std::array<NamePair, 3> kOuterNames = {{
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
}};

constexpr std::array<NamePair, 11> kLayerNames = {{
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
}};

constexpr std::string_view kLayerPrefix = "model.layers.";

std::string_view renamed_module(std::span<const NamePair> names, std::string_view module) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [module](const NamePair& pair) { return pair.first == module; });
  ensure(found != names.end(), ErrorKind::bug, "gguf names: no name for module '{}'", module);
  return found->second;
}

}  // namespace

std::string gguf_name(std::string_view parameter) {
  const std::size_t last_dot = parameter.rfind('.');
  const std::string_view kind = parameter.substr(last_dot);  // .weight or .bias
  std::string_view module = parameter.substr(0, last_dot);
  if (!module.starts_with(kLayerPrefix))
    return fmt::format("{}{}", renamed_module(kOuterNames, module), kind);
  module.remove_prefix(kLayerPrefix.size());
  const std::size_t dot = module.find('.');
  return fmt::format("blk.{}.{}{}", module.substr(0, dot),
                     renamed_module(kLayerNames, module.substr(dot + 1)), kind);
}

}  // namespace parhelion::model
