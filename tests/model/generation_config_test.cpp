#include "model/config_test_support.h"
#include "model/recipes/decoder_config.h"

#include <gmock/gmock.h>

namespace parhelion::model {
namespace {

using testing::ElementsAre;

Model after_generation_config(const Json& generation) {
  Model model = model_of(with(minimal_config("llama"), "eos_token_id", 2));
  apply_generation_config(generation, model);
  return model;
}

std::string generation_error(const Json& generation) {
  return error_of([&generation] { after_generation_config(generation); });
}

TEST(GenerationConfig, KeepsTheEndTokensOfTheConfigUnlessItHasItsOwn) {
  EXPECT_THAT(after_generation_config(Json::Object{}).eos_ids, ElementsAre(2));
  const Json two = Json::Object{{"eos_token_id", Json::Array{5, 6}}};
  EXPECT_THAT(after_generation_config(two).eos_ids, ElementsAre(5, 6));
}

TEST(GenerationConfig, IsGreedyUnlessItDraws) {
  EXPECT_EQ(after_generation_config(Json::Object{{"temperature", 0.6}}).sampling, Sampling{});
}

TEST(GenerationConfig, GivesTheSamplingDefaults) {
  const Json generation = Json::Object{
      {"do_sample", true}, {"temperature", 0.6}, {"top_k", 20}, {"top_p", 0.95}, {"min_p", 0.05}};
  const Sampling expected{.temperature = 0.6, .top_k = 20, .top_p = 0.95, .min_p = 0.05};
  EXPECT_EQ(after_generation_config(generation).sampling, expected);
}

TEST(GenerationConfig, PenalisesRepetitionInGreedyChoicesToo) {
  EXPECT_EQ(after_generation_config(Json::Object{{"repetition_penalty", 1.1}}).sampling,
            Sampling{.repetition_penalty = 1.1});
  const Json drawn = Json::Object{{"do_sample", true}, {"repetition_penalty", 1.05}};
  EXPECT_EQ(after_generation_config(drawn).sampling,
            (Sampling{.temperature = 1.0, .repetition_penalty = 1.05}));
}

TEST(GenerationConfig, NamesWhatItCannotHonour) {
  EXPECT_EQ(generation_error(Json::Object{{"top_p", 1.5}}),
            "invalid: generation_config.json: top_p is 1.5, expected 0 to 1");
  EXPECT_EQ(generation_error(Json::Object{{"repetition_penalty", 0.0}}),
            "invalid: generation_config.json: repetition_penalty is 0, expected 0.01 to 100");
  EXPECT_EQ(generation_error(Json::Object{{"penalty_alpha", 0.6}}),
            "unsupported: generation_config.json: unknown keys 'penalty_alpha'");
}

TEST(SamplingRanges, IncludeGreedy) {
  EXPECT_EQ(model_of(minimal_config("qwen3")).sampling_ranges.lowest.temperature, 0.0);
}

}  // namespace
}  // namespace parhelion::model
