#include "model/recipes/rope_config.h"

#include "base/error.h"

#include <fmt/format.h>

namespace parhelion::model {
namespace {

constexpr double kDefaultTheta = 10000.0;

std::string rope_type(ConfigKeys& keys) {
  const Json* current = keys.find("rope_type");
  const Json* old = keys.find("type");
  const Json* type = current ? current : old;
  return type ? type->as_string(fmt::format("{}: rope_type", keys.where())) : "default";
}

void read_llama3_scaling(ConfigKeys& keys, ir::RopeTable& rope) {
  rope.scaling = ir::RopeScaling::by_wavelength;
  rope.factor = keys.positive("factor");
  rope.low_frequency = keys.positive("low_freq_factor");
  rope.high_frequency = keys.positive("high_freq_factor");
  rope.original_positions = keys.size("original_max_position_embeddings");
  ensure(rope.high_frequency > rope.low_frequency, ErrorKind::invalid,
         "{}: high_freq_factor is {}, expected > low_freq_factor = {}", keys.where(),
         rope.high_frequency, rope.low_frequency);
}

/// Reads every key of the object but the base.
void read_scaling(ConfigKeys& keys, ir::RopeTable& rope) {
  const std::string type = rope_type(keys);
  keys.expect("partial_rotary_factor", 1);
  if (type == "linear") {
    rope.scaling = ir::RopeScaling::linear;
    rope.factor = keys.positive("factor");
  } else if (type == "llama3") {
    read_llama3_scaling(keys, rope);
  } else {
    ensure(type == "default", ErrorKind::unsupported,
           "{}: rope_type is \"{}\", expected \"default\", \"linear\" or \"llama3\"", keys.where(),
           type);
  }
  keys.finish();
}

}  // namespace

ir::RopeTable rope_from_config(ConfigKeys& keys) {
  ir::RopeTable rope;
  const Json* parameters = keys.find("rope_parameters");
  const Json* scaling = keys.find("rope_scaling");
  ensure(!parameters || !scaling, ErrorKind::invalid,
         "{}: has rope_parameters and rope_scaling, expected one", keys.where());
  rope.theta = keys.positive("rope_theta", kDefaultTheta);
  if (scaling) {
    ConfigKeys inner(*scaling, fmt::format("{}: rope_scaling", keys.where()));
    read_scaling(inner, rope);
  }
  if (parameters) {
    ConfigKeys inner(*parameters, fmt::format("{}: rope_parameters", keys.where()));
    rope.theta = inner.positive("rope_theta", rope.theta);
    read_scaling(inner, rope);
  }
  return rope;
}

void rope_to_config(const ir::RopeTable& rope, Json::Object& members) {
  members.emplace_back("rope_theta", rope.theta);
  switch (rope.scaling) {
    case ir::RopeScaling::none:
      return;
    case ir::RopeScaling::linear:
      members.emplace_back("rope_scaling",
                           Json::Object{{"rope_type", "linear"}, {"factor", rope.factor}});
      return;
    case ir::RopeScaling::by_wavelength:
      members.emplace_back("rope_scaling", Json::Object{{"rope_type", "llama3"},
                                                        {"factor", rope.factor},
                                                        {"low_freq_factor", rope.low_frequency},
                                                        {"high_freq_factor", rope.high_frequency},
                                                        {"original_max_position_embeddings",
                                                         rope.original_positions}});
      return;
  }
}

}  // namespace parhelion::model
