// Who goes first among those that run, and what is left of those that end badly.
#include "app/engine_support.h"

#include <gmock/gmock.h>

#include <numeric>

namespace parhelion::app {
namespace {

using serve::FinishReason;
using testing::ElementsAre;

std::vector<std::int32_t> ids_from(std::int32_t first, std::size_t count) {
  std::vector<std::int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

class EngineTurns : public EngineTest {
 protected:
  /// Runs requests that come one after the other and says in which order they ended.
  std::vector<std::size_t> ends(serve::Engine& engine,
                                const std::vector<serve::Request>& requests) {
    std::vector<std::size_t> order;
    std::vector<Listener> listeners(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      listeners[i].on_finish = [&order, i] { order.push_back(i); };
      engine.add(engine.sequences_of(requests[i], {i + 1}, listeners[i]));
      engine.step();
    }
    while (engine.step()) {
    }
    return order;
  }
};

TEST_F(EngineTurns, AnUrgentPromptGoesBeforeALongOneThatCameFirst) {
  serve::Engine& engine = make({.step_tokens = 8});
  serve::Request slow{.prompt = ids_from(20, 56), .max_tokens = 1, .temperature = 0.0};
  serve::Request urgent{.prompt = ids_from(120, 24), .max_tokens = 1, .temperature = 0.0};
  slow.priority = 7;
  urgent.priority = 1;
  EXPECT_THAT(ends(engine, {slow, urgent}), ElementsAre(1, 0));
}

TEST_F(EngineTurns, PromptsThatAreScoredTakeTurnsWithOthers) {
  serve::Engine& engine = make({});
  const serve::Request scored{.prompt = ids_from(20, 60),
                              .max_tokens = 1,
                              .temperature = 0.0,
                              .prompt_log_probabilities = true};
  const serve::Request other{.prompt = ids_from(120, 60), .max_tokens = 1, .temperature = 0.0};
  EXPECT_THAT(ends(engine, {scored, other}), ElementsAre(1, 0));
}

TEST_F(EngineTurns, APromptThatIsCancelledLeavesNothingThatIsNotFinite) {
  opened_ = model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "model/llama_scaled");
  for (const bool overlaps : {false, true}) {
    serve::Engine& engine = make({.step_tokens = 6, .overlaps = overlaps});
    poison_embedding(opened_.model, 9, *executor_);
    Listener bad, good;
    engine.add(engine.sequences_of(
        {.prompt = std::vector<std::int32_t>(40, 9), .max_tokens = 4, .temperature = 0.0}, {1},
        bad));
    engine.step();
    engine.step();
    ASSERT_FALSE(pages_are_finite());
    engine.cancel({1});
    engine.add(engine.sequences_of(
        {.prompt = {30, 31, 32}, .max_tokens = 4, .temperature = 0.0, .ignore_stop_ids = true}, {2},
        good));
    while (engine.step()) {
    }
    EXPECT_EQ(bad.heard[0].finish->reason, FinishReason::cancelled);
    EXPECT_EQ(good.heard[0].finish->reason, FinishReason::length);
    EXPECT_TRUE(pages_are_finite());
  }
}

TEST_F(EngineTurns, BadIdsThatLeaveNothingAreNoNumericFailure) {
  serve::Engine& engine = make({});
  Listener listener;
  engine.add(engine.sequences_of(
      {.prompt = {30, 31, 32}, .max_tokens = 4, .bad_ids = {5}, .allowed_ids = {5}}, {1},
      listener));
  while (engine.step()) {
  }
  EXPECT_EQ(listener.heard[0].finish->reason, FinishReason::no_allowed_token);
  EXPECT_EQ(engine.counts().numeric_failures, 0);
}

TEST_F(EngineTurns, AnIdPastTheVocabularyIsAFailedRow) {
  contract::Contract smaller = contract();
  smaller.vocabulary = 289;  // the program draws from 320
  executor_ = exec::make_cpu_executor({.threads = 1});
  serve::Engine engine(smaller, *executor_, {.pages = 100});
  upload_weights(opened_, ir::Kind::f32, *executor_);
  Listener listener;
  engine.add(engine.sequences_of({.prompt = {1, 2, 3},
                                  .max_tokens = 60,
                                  .temperature = 1.0,
                                  .presence_penalty = 1.0,
                                  .ignore_stop_ids = true},
                                 {1}, listener));
  while (engine.step()) {
  }
  EXPECT_EQ(listener.heard[0].finish->reason, FinishReason::numeric_failure);
}

}  // namespace
}  // namespace parhelion::app
