#include "app/weights.h"
#include "base/error.h"
#include "exec/cpu/cpu_executor.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace parhelion::app {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// An engine over the tiny model with a context of 48 tokens.
class GenerateTest : public testing::Test {
 protected:
  GenerateTest()
      : opened_(model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "model/llama_tiny")),
        executor_(exec::make_cpu_executor({.threads = 1})) {
    contract::Contract contract = prepare::make_contract(
        opened_.model,
        {.kind = ir::Kind::f32,
         .context_tokens = 48,
         .catalogue = {prepare::one_row(1, 1), prepare::one_row(8, 1), prepare::one_row(8, 8)}});
    contract.stop_ids.clear();
    engine_ =
        std::make_unique<serve::Engine>(std::move(contract), *executor_, serve::EngineSettings{});
    upload_weights(opened_, ir::Kind::f32, *executor_);
  }

  serve::Completion generate(const serve::Request& request) {
    return serve::complete(*engine_, request, [](std::int32_t) {});
  }

  model::OpenedModel opened_;
  std::unique_ptr<exec::Executor> executor_;
  std::unique_ptr<serve::Engine> engine_;
};

const std::vector<std::int32_t> kPrompt = {5, 9, 12, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49};

TEST_F(GenerateTest, GreedyIdsHaveTheLogProbabilitiesThatScoreGives) {
  const serve::Completion completion =
      generate({.prompt = kPrompt, .max_tokens = 12, .temperature = 0.0});
  ASSERT_EQ(completion.ids.size(), 12u);
  std::vector<std::int32_t> all = kPrompt;
  all.insert(all.end(), completion.ids.begin(), completion.ids.end());
  const std::vector<float> scored = serve::score(*engine_, all);
  const std::vector<float> tail(scored.end() - 12, scored.end());
  EXPECT_EQ(tail, completion.log_probabilities);
}

TEST_F(GenerateTest, EqualSeedsGiveEqualIdsAndOtherSeedsOthers) {
  const serve::Request request{.prompt = kPrompt, .max_tokens = 20, .temperature = 1.5, .seed = 3};
  serve::Request other = request;
  other.seed = 4;
  const auto ids = generate(request).ids;
  EXPECT_EQ(generate(request).ids, ids);
  EXPECT_NE(generate(other).ids, ids);
}

TEST(PenaltyOfAModel, IsTheDefaultOfItsRequests) {
  model::OpenedModel opened =
      model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "model/llama_tiny");
  const auto ids = [&](double of_model, std::optional<double> asked) {
    opened.model.sampling.repetition_penalty = of_model;
    const auto executor = exec::make_cpu_executor({.threads = 1});
    const std::vector<ir::Capacities> catalogue = {prepare::one_row(1, 1), prepare::one_row(8, 1)};
    serve::Engine engine(prepare::make_contract(opened.model, {.kind = ir::Kind::f32,
                                                               .context_tokens = 48,
                                                               .catalogue = catalogue,
                                                               .edited_catalogue = catalogue}),
                         *executor, serve::EngineSettings{});
    upload_weights(opened, ir::Kind::f32, *executor);
    return serve::complete(engine,
                           {.prompt = kPrompt,
                            .max_tokens = 12,
                            .temperature = 0.0,
                            .repetition_penalty = asked},
                           [](std::int32_t) {})
        .ids;
  };
  EXPECT_EQ(ids(50, {}), ids(1, 50));
  EXPECT_EQ(ids(50, 1.0), ids(1, {}));
  EXPECT_NE(ids(50, {}), ids(1, {}));
}

TEST_F(GenerateTest, StopsWhenTheContextIsFull) {
  const serve::Completion completion =
      generate({.prompt = kPrompt, .max_tokens = 1000, .temperature = 0.0});
  EXPECT_EQ(completion.reason, serve::FinishReason::length);
  EXPECT_EQ(kPrompt.size() + completion.ids.size(), 49u);  // the last id needs no place
}

TEST_F(GenerateTest, BadRequestsAreNamed) {
  const auto request = [&](serve::Request asked) { return [=, this] { generate(asked); }; };
  EXPECT_THAT(request({.prompt = {}, .max_tokens = 1}),
              ThrowsMessage<Error>("prompt: is empty, expected at least one token"));
  EXPECT_THAT(request({.prompt = {1, 320}, .max_tokens = 1}),
              ThrowsMessage<Error>("prompt: token 1 is id 320, expected 0 to 319"));
  EXPECT_THAT(request({.prompt = std::vector<std::int32_t>(49, 1), .max_tokens = 1}),
              ThrowsMessage<Error>("prompt: has 49 tokens, the context holds 48"));
  EXPECT_THAT(request({.prompt = {1}, .max_tokens = 0}),
              ThrowsMessage<Error>("max_tokens: is 0, expected at least 1"));
  EXPECT_THAT(request({.prompt = {1}, .max_tokens = 1, .temperature = -1.0}),
              ThrowsMessage<Error>(HasSubstr("temperature: is -1, expected 0 to")));
  EXPECT_THAT(request({.prompt = {1}, .max_tokens = 1, .top_p = 1.5}),
              ThrowsMessage<Error>("top_p: is 1.5, expected 0 to 1"));
}

TEST_F(GenerateTest, WhatIsNotFiniteStaysInNoPage) {
  executor_->upload("model.embed_tokens.weight", [](std::span<std::byte> bytes) {
    std::ranges::fill(bytes, std::byte{0xff});  // NaN
  });
  const auto is_clear = [&] {
    const auto pages = executor_->download("cache.layers.0.value");
    return std::ranges::all_of(pages, [](std::byte each) { return each == std::byte{0}; });
  };
  EXPECT_THAT(
      [&] { generate({.prompt = kPrompt, .max_tokens = 3}); },
      ThrowsMessage<Error>("token 0 of the answer: the model's logits have no finite maximum"));
  EXPECT_TRUE(is_clear());
  EXPECT_THROW(serve::score(*engine_, kPrompt), Error);
  EXPECT_TRUE(is_clear());
  engine_->audit();
}

TEST_F(GenerateTest, ARefusedRequestLeavesTheEngineAsItWas) {
  const serve::Request request{.prompt = kPrompt, .max_tokens = 6, .temperature = 0.0};
  const auto before = generate(request).ids;
  EXPECT_THROW(generate({.prompt = {-1}, .max_tokens = 1}), Error);
  EXPECT_EQ(generate(request).ids, before);
}

}  // namespace
}  // namespace parhelion::app
