#include "ir/print.h"
#include "model/checkpoint_test_support.h"
#include "model/config_test_support.h"
#include "model/programs.h"
#include "model/recipes/decoder_config.h"
#include "model/recipes/llama/llama.h"
#include "model/recipes/qwen3/qwen3.h"

#include <gmock/gmock.h>

namespace parhelion::model {
namespace {

/// All that a config decides of the programs: dims, epsilons, biases, rope.
std::string whole_text(const Model& model) {
  return ir::print(build_train(model, ir::Kind::f32).program);
}

void expect_same_model(const Model& model, const Model& expected) {
  EXPECT_EQ(whole_text(model), whole_text(expected));
  EXPECT_EQ(model.architecture, expected.architecture);
  EXPECT_EQ(model.eos_ids, expected.eos_ids);
  EXPECT_EQ(model.tied_head, expected.tied_head);
  EXPECT_EQ(model.max_positions, expected.max_positions);
}

/// The config written anew from the form that it describes.
Json rewritten(const Json& config) {
  const bool is_llama = *config.find("model_type") == Json("llama");
  ConfigKeys keys(config, "config.json");
  Decoder form = decoder_from_config(keys);
  if (is_llama) form.mlp.bias = keys.flag("mlp_bias", false);
  const auto eos_ids = eos_ids_from_config(keys, form.vocabulary);
  return is_llama ? llama_to_config(form, eos_ids) : qwen3_to_config(form, eos_ids);
}

class WrittenConfig : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Model, WrittenConfig, testing::ValuesIn(kGoldenModels),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(WrittenConfig, GivesTheModelBack) {
  const Json config = parse_json(read_file(golden_path(GetParam()) / "config.json"), "config.json");
  expect_same_model(model_of(rewritten(config)), model_of(config));
}

TEST(ConfigWriter, KeepsEveryRopeScaling) {
  const Json llama = minimal_config("llama");
  const Json linear = with(with(llama, "rope_theta", 5e5), "rope_scaling",
                           Json::Object{{"rope_type", "linear"}, {"factor", 2.5}});
  const Json by_wavelength = with(llama, "rope_scaling",
                                  Json::Object{{"rope_type", "llama3"},
                                               {"factor", 8.0},
                                               {"low_freq_factor", 1.5},
                                               {"high_freq_factor", 4.5},
                                               {"original_max_position_embeddings", 32}});
  for (const Json& config : {llama, linear, by_wavelength}) {
    EXPECT_EQ(rope_of(model_of(rewritten(config))), rope_of(model_of(config)));
    expect_same_model(model_of(rewritten(config)), model_of(config));
  }
}

TEST(ConfigWriter, KeepsEndTokens) {
  for (const Json& ids : {Json(3), Json(Json::Array{3, 5}), Json(nullptr)}) {
    const Json config = with(minimal_config("qwen3"), "eos_token_id", ids);
    EXPECT_EQ(model_of(rewritten(config)).eos_ids, model_of(config).eos_ids);
  }
}

TEST(ConfigWriter, RefusesBiasesThatConfigsCannotSay) {
  Decoder form;
  form.attention.projection_bias = true;
  EXPECT_EQ(error_of([&] { llama_to_config(form, {}); }),
            "unsupported: config.json: attention_bias speaks of all four projections, but the "
            "model has a bias in q_proj, k_proj and v_proj alone");
  form.attention.output_bias = true;
  EXPECT_EQ(error_of([&] { llama_to_config(form, {}); }), "no error");
  form.mlp.bias = true;
  EXPECT_EQ(error_of([&] { llama_to_config(form, {}); }), "no error");
  EXPECT_EQ(error_of([&] { qwen3_to_config(form, {}); }),
            "unsupported: config.json: has no key for the biases of a qwen3 model's MLP");
}

TEST(ConfigWriter, KeepsSamplingAndEndTokensOfAGenerationConfig) {
  const Sampling drawn = {.temperature = 0.7, .top_k = 20, .top_p = 0.95, .min_p = 0.05};
  for (const Sampling& sampling :
       {Sampling{}, drawn, Sampling{.temperature = 1.0}, Sampling{.repetition_penalty = 1.1},
        Sampling{.temperature = 1.0, .repetition_penalty = 1.1}}) {
    Model model = model_of(minimal_config("llama"));
    model.eos_ids = {2, 7};
    model.sampling = sampling;
    Model back = model_of(minimal_config("llama"));
    apply_generation_config(generation_config_of(model), back);
    EXPECT_EQ(back.sampling, sampling);
    EXPECT_EQ(back.eos_ids, model.eos_ids);
  }
}

}  // namespace
}  // namespace parhelion::model
