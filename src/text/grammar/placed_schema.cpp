#include "text/grammar/placed_schema.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace parhelion::text {
namespace {

/// Keywords whose members are names, and those whose values are no schemas.
constexpr std::array<std::string_view, 5> kMaps = {"properties", "patternProperties", "$defs",
                                                   "definitions", "dependentSchemas"};
constexpr std::array<std::string_view, 4> kValues = {"const", "enum", "default", "examples"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Json placed_member(std::string_view name, const Json& value, std::string_view place) {
  if (is_one_of(kValues, name)) return value;
  if (name == "$ref" && value.is_string() && value.as_string(name).starts_with('#'))
    return "#" + std::string(place) + value.as_string(name).substr(1);
  if (!is_one_of(kMaps, name) || !value.is_object()) return placed_schema(value, place);
  Json::Object made;
  for (const auto& [key, schema] : value.as_object(name))
    made.emplace_back(key, placed_schema(schema, place));
  return made;
}

}  // namespace

Json placed_schema(const Json& schema, std::string_view place) {
  if (schema.is_array()) {
    Json::Array made;
    for (const Json& each : schema.as_array("schemas")) made.push_back(placed_schema(each, place));
    return made;
  }
  if (!schema.is_object()) return schema;
  Json::Object made;
  for (const auto& [name, value] : schema.as_object("schema"))
    made.emplace_back(name, placed_member(name, value, place));
  return made;
}

Json any_of_schemas(Json::Array schemas) {
  if (schemas.size() == 1) return std::move(schemas.front());
  for (std::size_t i = 0; i < schemas.size(); ++i)
    schemas[i] = placed_schema(schemas[i], "/anyOf/" + std::to_string(i));
  return Json::Object{{"anyOf", std::move(schemas)}};
}

}  // namespace parhelion::text
