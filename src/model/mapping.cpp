#include "model/mapping.h"

#include "model/gguf_names.h"
#include "model/programs.h"

#include <optional>
#include <string>
#include <utility>

namespace parhelion::model {
namespace {

/// Heads whose rows the projection makes, if rope turns them.
std::optional<std::int64_t> rotated_head_count(const Model& model, std::string_view parameter) {
  if (parameter.find(".q_proj.") != std::string_view::npos) return model.heads;
  if (parameter.find(".k_proj.") != std::string_view::npos) return model.kv_heads;
  return std::nullopt;
}

/// From GGUF's tensor to the parameter `name`.
state::Mapper gguf_leaf(const Model& model, const std::string& name) {
  state::Mapper rename = state::Rename{gguf_name(name), name};
  const std::optional<std::int64_t> heads = rotated_head_count(model, name);
  if (!heads || model.gguf_rope_rows == state::RopeLayout::half) return rename;
  return state::Sequential{
      {std::move(rename), state::RopeRows{name, *heads, state::RopeLayout::half}}};
}

/// From a body's tensor to the parameter `name`.
state::Mapper body_leaf(const std::string& name) {
  constexpr std::string_view kPrefix = "model.";
  if (!name.starts_with(kPrefix)) return state::Identity{name};
  return state::Rename{name.substr(kPrefix.size()), name};
}

state::Mapper leaf(const Model& model, CheckpointFormat format, const std::string& name) {
  if (format == CheckpointFormat::gguf) return gguf_leaf(model, name);
  if (format == CheckpointFormat::hugging_face_body) return body_leaf(name);
  return state::Identity{name};
}

}  // namespace

std::vector<ir::Buffer> parameters(const Model& model) {
  std::vector<ir::Buffer> result;
  for (const ir::Buffer& buffer : build_train(model, ir::Kind::f32).program.buffers)
    if (buffer.role == ir::Role::parameter) result.push_back(buffer);
  return result;
}

Model base_of(Model model) {
  model.lora.reset();
  return model;
}

Mapping mapping(const Model& model, CheckpointFormat format) {
  state::Parallel parts;
  for (const ir::Buffer& parameter : parameters(base_of(model)))
    parts.parts.push_back(leaf(model, format, parameter.name));
  if (format == CheckpointFormat::gguf)
    return {parts, {{"rope_freqs.weight", "its rule is part of the rope table"}}};
  if (format == CheckpointFormat::parhelion) return {parts, {}};
  Mapping result{parts, {{"*.rotary_emb.inv_freq", "the rope table is computed"}}};
  if (model.tied_head)
    result.ignored.push_back({"lm_head.weight", "the head is tied to the embedding"});
  return result;
}

}  // namespace parhelion::model
