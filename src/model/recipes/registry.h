#pragma once

#include "base/json.h"
#include "model/model.h"
#include "state/checkpoint.h"

#include <span>
#include <string_view>

namespace parhelion::model {

/// An architecture: how a model is read from each kind of checkpoint.
struct Recipe {
  std::string_view name;  ///< `model_type` of a config.json and `general.architecture` of a GGUF
  Model (*from_config)(const Json& config);
  Model (*from_gguf)(const state::Checkpoint& checkpoint);
  Json (*gguf_to_config)(const state::Checkpoint& checkpoint);  ///< the config.json of such a model
};

/// All recipes, by name.
std::span<const Recipe> recipes();

/// The recipe that a config.json, or a GGUF file, asks for.
///
/// Errors: invalid if it names none; unsupported if no recipe has the name.
const Recipe& find_recipe(const Json& config);
const Recipe& find_recipe(const state::GgufMetadata& metadata);

}  // namespace parhelion::model
