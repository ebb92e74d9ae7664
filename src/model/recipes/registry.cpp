#include "model/recipes/registry.h"

#include "base/error.h"
#include "model/recipes/llama/llama.h"
#include "model/recipes/qwen3/qwen3.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace parhelion::model {
namespace {

constexpr std::array<Recipe, 2> kRecipes = {{
    {"llama", llama_from_config, llama_from_gguf, llama_gguf_to_config},
    {"qwen3", qwen3_from_config, qwen3_from_gguf, qwen3_gguf_to_config},
}};

const Recipe& recipe_named(std::string_view name, std::string_view where) {
  const auto found = std::find_if(kRecipes.begin(), kRecipes.end(),
                                  [name](const Recipe& recipe) { return recipe.name == name; });
  if (found != kRecipes.end()) return *found;
  std::vector<std::string_view> known;
  known.reserve(kRecipes.size());
  for (const Recipe& recipe : kRecipes) known.push_back(recipe.name);
  fail(ErrorKind::unsupported, "{} is \"{}\", expected one of {}", where, name,
       fmt::join(known, ", "));
}

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe& find_recipe(const Json& config) {
  const Json* name = config.find("model_type");
  ensure(name != nullptr, ErrorKind::invalid, "config.json: model_type is missing");
  return recipe_named(name->as_string("config.json: model_type"), "config.json: model_type");
}

const Recipe& find_recipe(const state::GgufMetadata& metadata) {
  return recipe_named(metadata.string("general.architecture"), "general.architecture");
}

}  // namespace parhelion::model
