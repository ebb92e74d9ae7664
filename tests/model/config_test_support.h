#pragma once

#include "base/error.h"
#include "base/json.h"
#include "model/recipes/registry.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace parhelion::model {

/// The smallest config.json that the recipe `type` accepts.
inline Json minimal_config(std::string_view type) {
  return Json::Object{{"model_type", type},       {"vocab_size", 160},
                      {"hidden_size", 48},        {"intermediate_size", 72},
                      {"num_hidden_layers", 2},   {"num_attention_heads", 6},
                      {"num_key_value_heads", 3}, {"max_position_embeddings", 64},
                      {"rms_norm_eps", 1e-5}};
}

/// The object with one member replaced or added.
inline Json with(const Json& object, std::string_view key, Json value) {
  Json::Object members = object.as_object("test");
  for (auto& [name, old] : members) {
    if (name != key) continue;
    old = std::move(value);
    return members;
  }
  members.emplace_back(key, std::move(value));
  return members;
}

inline Json without(const Json& object, std::string_view key) {
  Json::Object members = object.as_object("test");
  std::erase_if(members, [key](const Json::Member& member) { return member.first == key; });
  return members;
}

inline Model model_of(const Json& config) { return find_recipe(config).from_config(config); }

/// The kind and message of the error that `act` ends in.
template <class Act>
std::string error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return std::string(name(error.kind())) + ": " + error.what();
  }
  return "no error";
}

inline std::string config_error(const Json& config) {
  return error_of([&config] { model_of(config); });
}

/// The op that makes the model's rope table.
inline ir::RopeTable rope_of(const Model& model) {
  ir::Program program;
  ir::Builder builder(program);
  PackedContext context(builder);
  model.build(builder, ir::Kind::f32, context);
  return std::get<ir::RopeTable>(*program.at(ir::find_buffer(program, "rope_table")).init);
}

}  // namespace parhelion::model
