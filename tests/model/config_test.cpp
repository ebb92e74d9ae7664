#include "model/config_test_support.h"

#include <gmock/gmock.h>

namespace parhelion::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Config, GivesTheDimsOfTheModel) {
  const Model model = model_of(minimal_config("llama"));
  EXPECT_EQ(model.architecture, "llama");
  EXPECT_EQ(model.vocabulary, 160);
  EXPECT_EQ(model.hidden, 48);
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.heads, 6);
  EXPECT_EQ(model.kv_heads, 3);
  EXPECT_EQ(model.max_positions, 64);
}

TEST(Config, DerivesTheHeadDimOfLlamaWhereItIsAbsent) {
  EXPECT_EQ(model_of(minimal_config("llama")).head_dim, 8);
  EXPECT_EQ(model_of(with(minimal_config("llama"), "head_dim", 20)).head_dim, 20);
}

TEST(Config, TakesTheHeadDimOfQwen3AsTransformersDoes) {
  EXPECT_EQ(model_of(minimal_config("qwen3")).head_dim, 128);
}

TEST(Config, GivesEachHeadItsOwnKeysWhereGroupsAreAbsent) {
  EXPECT_EQ(model_of(without(minimal_config("llama"), "num_key_value_heads")).kv_heads, 6);
  EXPECT_EQ(model_of(with(minimal_config("llama"), "num_key_value_heads", nullptr)).kv_heads, 6);
}

TEST(Config, TakesTheDeviationOfRandomWeights) {
  for (const char* recipe : {"llama", "qwen3"}) {
    EXPECT_EQ(model_of(minimal_config(recipe)).initial_deviation, 0.02);
    EXPECT_EQ(model_of(with(minimal_config(recipe), "initializer_range", 0.1)).initial_deviation,
              0.1);
    EXPECT_EQ(config_error(with(minimal_config(recipe), "initializer_range", 0)),
              "invalid: config.json: initializer_range is 0, expected > 0");
  }
}

TEST(Config, NamesAMissingKey) {
  EXPECT_EQ(config_error(without(minimal_config("llama"), "hidden_size")),
            "invalid: config.json: hidden_size is missing");
}

TEST(Config, NamesAKeyOfTheWrongTypeOrRange) {
  const Json config = minimal_config("llama");
  EXPECT_EQ(config_error(with(config, "hidden_size", "48")),
            "invalid: config.json: hidden_size: is string, expected integer");
  EXPECT_EQ(config_error(with(config, "vocab_size", 0)),
            "invalid: config.json: vocab_size is 0, expected 1 to 16777216");
  EXPECT_EQ(config_error(with(config, "num_hidden_layers", 5000)),
            "invalid: config.json: num_hidden_layers is 5000, expected 1 to 4096");
  EXPECT_EQ(config_error(with(config, "rms_norm_eps", -1.0)),
            "invalid: config.json: rms_norm_eps is -1, expected > 0");
}

TEST(Config, NamesSizesThatDoNotFitEachOther) {
  const Json config = minimal_config("llama");
  EXPECT_EQ(
      config_error(with(config, "hidden_size", 50)),
      "invalid: config.json: hidden_size is 50, expected a multiple of num_attention_heads = 6");
  EXPECT_EQ(config_error(with(config, "num_key_value_heads", 4)),
            "invalid: config.json: has 6 heads, expected a multiple of its 4 key-value heads");
  EXPECT_EQ(config_error(with(config, "head_dim", 7)),
            "invalid: config.json: head dim is 7, expected even");
}

TEST(Config, NamesEveryUnknownKey) {
  const Json config = with(with(minimal_config("llama"), "logit_scale", 2), "window", 3);
  EXPECT_EQ(config_error(config), "unsupported: config.json: unknown keys 'logit_scale', 'window'");
}

TEST(Config, AcceptsKeysThatChangeNothing) {
  Json config = with(minimal_config("llama"), "transformers_version", "4.42.3");
  config = with(config, "is_llama_config", true);
  config = with(config, "rope_interleaved", false);
  config = with(config, "pretraining_tp", 1);
  config = with(config, "attention_dropout", 0.0);
  config = with(config, "architectures", Json::Array{"LlamaForCausalLM"});
  EXPECT_EQ(config_error(config), "no error");
}

TEST(Config, RefusesWhatALlamaCannotHonour) {
  const Json config = minimal_config("llama");
  EXPECT_EQ(config_error(with(config, "hidden_act", "gelu")),
            "unsupported: config.json: hidden_act is \"gelu\", expected \"silu\"");
  EXPECT_EQ(config_error(with(config, "pretraining_tp", 2)),
            "unsupported: config.json: pretraining_tp is 2, expected 1");
  EXPECT_EQ(config_error(with(config, "attention_dropout", 0.1)),
            "unsupported: config.json: attention_dropout is 0.1, expected 0");
  EXPECT_EQ(config_error(with(config, "rope_interleaved", true)),
            "unsupported: config.json: rope_interleaved is true, expected false");
  EXPECT_EQ(config_error(with(config, "quantization_config", Json::Object{{"bits", 4}})),
            "unsupported: config.json: quantization_config is {\"bits\":4}, expected null");
  EXPECT_EQ(config_error(with(config, "architectures", Json::Array{"LlamaModel"})),
            "unsupported: config.json: architectures is [\"LlamaModel\"], expected "
            "[\"LlamaForCausalLM\"]");
}

TEST(Config, RefusesSlidingWindowsOfQwen3) {
  const Json config = minimal_config("qwen3");
  EXPECT_EQ(config_error(with(with(config, "sliding_window", 4096), "max_window_layers", 2)),
            "no error");
  EXPECT_EQ(config_error(with(config, "use_sliding_window", true)),
            "unsupported: config.json: use_sliding_window is true, expected false");
  EXPECT_EQ(
      config_error(with(config, "layer_types", Json::Array{"full_attention", "sliding_attention"})),
      "unsupported: config.json: layer_types has \"sliding_attention\", expected "
      "\"full_attention\"");
}

TEST(Config, RefusesKeysOfTheOtherRecipe) {
  EXPECT_EQ(config_error(with(minimal_config("qwen3"), "mlp_bias", false)),
            "unsupported: config.json: unknown keys 'mlp_bias'");
}

TEST(Config, TakesOneEndTokenOrAList) {
  const Json config = minimal_config("llama");
  EXPECT_THAT(model_of(config).eos_ids, IsEmpty());
  EXPECT_THAT(model_of(with(config, "eos_token_id", 2)).eos_ids, ElementsAre(2));
  EXPECT_THAT(model_of(with(config, "eos_token_id", Json::Array{2, 7})).eos_ids, ElementsAre(2, 7));
  EXPECT_EQ(config_error(with(config, "eos_token_id", 160)),
            "invalid: config.json: eos_token_id: is 160, expected 0 to 159");
}

TEST(Registry, NamesAnUnknownArchitecture) {
  EXPECT_EQ(config_error(minimal_config("gemma3")),
            "unsupported: config.json: model_type is \"gemma3\", expected one of llama, qwen3");
  EXPECT_EQ(config_error(without(minimal_config("llama"), "model_type")),
            "invalid: config.json: model_type is missing");
}

}  // namespace
}  // namespace parhelion::model
