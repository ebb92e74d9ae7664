#include "model/config_test_support.h"

namespace parhelion::model {
namespace {

const Json kLlama3Rope = Json::Object{{"rope_type", "llama3"},
                                      {"factor", 8.0},
                                      {"low_freq_factor", 1.0},
                                      {"high_freq_factor", 4.0},
                                      {"original_max_position_embeddings", 32}};

TEST(RopeConfig, IsPlainWhereNothingIsSaid) {
  const ir::RopeTable expected{.positions = 64, .dim = 8, .theta = 10000.0};
  EXPECT_EQ(rope_of(model_of(minimal_config("llama"))), expected);
}

TEST(RopeConfig, ReadsTheKeysOfTransformers4) {
  const Json config = with(minimal_config("llama"), "rope_theta", 500000);
  const ir::RopeTable expected{.positions = 64,
                               .dim = 8,
                               .theta = 500000.0,
                               .scaling = ir::RopeScaling::by_wavelength,
                               .factor = 8.0,
                               .low_frequency = 1.0,
                               .high_frequency = 4.0,
                               .original_positions = 32};
  EXPECT_EQ(rope_of(model_of(with(config, "rope_scaling", kLlama3Rope))), expected);
}

TEST(RopeConfig, ReadsTheOldNameOfAScaling) {
  const Json scaling = Json::Object{{"type", "linear"}, {"factor", 2.5}};
  const ir::RopeTable rope =
      rope_of(model_of(with(minimal_config("llama"), "rope_scaling", scaling)));
  EXPECT_EQ(rope.scaling, ir::RopeScaling::linear);
  EXPECT_EQ(rope.factor, 2.5);
}

TEST(RopeConfig, ReadsTheKeysOfTransformers5) {
  const Json rope = with(kLlama3Rope, "rope_theta", 500000.0);
  const Json classic =
      with(with(minimal_config("llama"), "rope_theta", 500000.0), "rope_scaling", kLlama3Rope);
  EXPECT_EQ(rope_of(model_of(with(minimal_config("llama"), "rope_parameters", rope))),
            rope_of(model_of(classic)));
}

TEST(RopeConfig, RefusesOtherScalingsByName) {
  const Json yarn = Json::Object{{"rope_type", "yarn"}, {"factor", 4.0}};
  EXPECT_EQ(config_error(with(minimal_config("qwen3"), "rope_scaling", yarn)),
            "unsupported: config.json: rope_scaling: rope_type is \"yarn\", expected \"default\", "
            "\"linear\" or \"llama3\"");
}

TEST(RopeConfig, NamesMissingAndUnknownKeys) {
  const Json config = minimal_config("llama");
  EXPECT_EQ(config_error(with(config, "rope_scaling", Json::Object{{"type", "linear"}})),
            "invalid: config.json: rope_scaling: factor is missing");
  const Json strange = Json::Object{{"rope_type", "default"}, {"mscale", 1.0}};
  EXPECT_EQ(config_error(with(config, "rope_parameters", strange)),
            "unsupported: config.json: rope_parameters: unknown keys 'mscale'");
  EXPECT_EQ(
      config_error(with(with(config, "rope_parameters", kLlama3Rope), "rope_scaling", kLlama3Rope)),
      "invalid: config.json: has rope_parameters and rope_scaling, expected one");
}

TEST(RopeConfig, RefusesBoundsOutOfOrder) {
  EXPECT_EQ(config_error(with(minimal_config("llama"), "rope_scaling",
                              with(kLlama3Rope, "high_freq_factor", 0.5))),
            "invalid: config.json: rope_scaling: high_freq_factor is 0.5, expected > "
            "low_freq_factor = 1");
}

}  // namespace
}  // namespace parhelion::model
