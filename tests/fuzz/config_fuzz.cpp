// A config.json, and under its key generation_config a generation_config.json: read, or refused as
// bad input; never a crash or an error of our own.

#include "base/error.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "model/recipes/decoder_config.h"
#include "model/recipes/registry.h"

#include <string_view>

namespace {

using parhelion::Error;
using parhelion::ErrorKind;
using parhelion::Json;

/// The members of a config without the one that the model's recipe does not read.
Json without_generation(const Json& config) {
  if (!config.is_object()) return config;
  Json::Object members;
  for (const Json::Member& member : config.as_object("config")) {
    if (member.first != "generation_config") members.push_back(member);
  }
  return members;
}

void read_config(std::string_view text) {
  const Json config = parhelion::parse_json(text, "config.json", {.depth = 32, .values = 10'000});
  const Json model_config = without_generation(config);
  parhelion::model::Model model =
      parhelion::model::find_recipe(model_config).from_config(model_config);
  const Json* generation = config.find("generation_config");
  if (generation != nullptr) parhelion::model::apply_generation_config(*generation, model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) try {
  read_config({reinterpret_cast<const char*>(data), size});
  return 0;
} catch (const Error& error) {
  if (!parhelion::is_bad_input(error.kind())) throw;
  return 0;
}
