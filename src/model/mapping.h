#pragma once

#include "model/model.h"
#include "state/loader.h"

#include <string_view>
#include <vector>

namespace parhelion::model {

/// Whose names a checkpoint uses.
enum class CheckpointFormat : std::uint8_t {
  hugging_face,
  hugging_face_body,  ///< without the head, whose names lack their first part, `model`
  gguf,
  parhelion,  ///< the parameters' own names, as training saves them
};

/// What the names of the files begin with in which training saves parameters.
inline constexpr std::string_view kParametersStem = "parameters";

/// How a checkpoint's tensors become a model's parameters; `state::invert` goes back.
struct Mapping {
  state::Mapper mapper;
  std::vector<state::IgnoreRule> ignored;
};

/// The parameters of a model in the order of its ops, as f32; then those of its adapters.
std::vector<ir::Buffer> parameters(const Model& model);

/// The model without its adapters.
Model base_of(Model model);

/// The mapping of all parameters of `model` but its adapters'.
Mapping mapping(const Model& model, CheckpointFormat format);

}  // namespace parhelion::model
