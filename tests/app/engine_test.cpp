#include "app/engine_support.h"
#include "base/error.h"
#include "serve/complete.h"
#include "serve/engine_thread.h"

#include <gmock/gmock.h>

#include <future>
#include <numeric>

namespace parhelion::app {
namespace {

using serve::FinishReason;
using testing::ElementsAre;
using testing::ThrowsMessage;

TEST_F(EngineTest, TokensDoNotDependOnOthersChunksOrTheCache) {
  const std::vector<serve::Request> requests = mixed_requests(5, 24);
  const std::vector<Heard> expected = alone(requests);
  for (const std::int64_t step_tokens : {0, 3, 7}) {
    serve::Engine& engine = make({.step_tokens = step_tokens});
    EXPECT_EQ(together(engine, requests), expected) << "steps of " << step_tokens;
    EXPECT_GT(engine.counts().cached_tokens, 0);
    EXPECT_EQ(together(engine, requests), expected) << "with a warm cache";
  }
}

TEST_F(EngineTest, TokensDoNotDependOnPreemption) {
  const std::vector<serve::Request> requests = mixed_requests(6, 20);
  const std::vector<Heard> expected = alone(requests);
  for (const bool overlaps : {false, true}) {
    serve::Engine& engine =
        make({.pages = 24, .reserve = serve::Reserve::grow, .overlaps = overlaps});
    EXPECT_EQ(together(engine, requests), expected);
    EXPECT_GT(engine.counts().preemptions, 0);
  }
}

TEST_F(EngineTest, PromptScoresAreToldOnceThoughTheirSequenceGivesWay) {
  std::vector<serve::Request> requests = mixed_requests(6, 20);
  for (serve::Request& request : requests) request.prompt_log_probabilities = true;
  const std::vector<Heard> expected = alone(requests);
  for (const bool overlaps : {false, true}) {
    serve::Engine& engine =
        make({.pages = 24, .reserve = serve::Reserve::grow, .overlaps = overlaps});
    EXPECT_EQ(together(engine, requests), expected);
    EXPECT_GT(engine.counts().preemptions, 0);
  }
}

TEST_F(EngineTest, TokensDoNotDependOnStepsThatOverlap) {
  std::vector<serve::Request> requests = mixed_requests(9, 24);
  for (std::size_t i = 0; i < requests.size(); i += 2) requests[i].stop_filter = third_token;
  const std::vector<Heard> expected = alone(requests);
  serve::Engine& engine = make({.overlaps = true});
  EXPECT_EQ(together(engine, requests), expected);
  EXPECT_GT(engine.counts().discarded_tokens, 0);
  EXPECT_EQ(together(engine, requests), expected) << "with a warm cache";
}

TEST_F(EngineTest, NobodyGivesWayWhenPagesAreKeptForTheWorstCase) {
  const std::vector<serve::Request> requests = mixed_requests(7, 30);
  const std::vector<Heard> expected = alone(requests);
  serve::Engine& engine = make({.pages = 24});
  EXPECT_EQ(together(engine, requests), expected);
  EXPECT_EQ(engine.counts().preemptions, 0);
  EXPECT_GT(engine.counts().evicted_pages, 0);
}

TEST_F(EngineTest, SequencesOfOneRequestShareItsPromptAndDrawApart) {
  serve::Engine& engine = make({});
  Listener listener;
  std::vector<std::int32_t> prompt(13);
  std::iota(prompt.begin(), prompt.end(), 20);
  const serve::Request request{
      .prompt = prompt, .max_tokens = 9, .temperature = 1.0, .seed = 3, .sequences = 3};
  engine.add(engine.sequences_of(request, {1}, listener));
  while (engine.step()) {
  }
  EXPECT_NE(listener.heard[0].ids, listener.heard[1].ids);
  EXPECT_NE(listener.heard[1].ids, listener.heard[2].ids);
  EXPECT_EQ(listener.heard[0].finish->cached_tokens, 0);
  EXPECT_EQ(listener.heard[2].finish->cached_tokens, 12);  // all but the last
  serve::Request first = request;
  first.sequences = 1;
  EXPECT_EQ(alone({first}).front(), listener.heard[0]);
}

TEST_F(EngineTest, PromptScoresAreThoseOfScore) {
  std::vector<std::int32_t> prompt(40);
  std::iota(prompt.begin(), prompt.end(), 100);
  const serve::Request request{
      .prompt = prompt, .max_tokens = 2, .temperature = 0.0, .prompt_log_probabilities = true};
  const Heard heard = alone({request}).front();
  EXPECT_EQ(heard.prompt_scores, serve::score(make({}), prompt));
  EXPECT_EQ(heard.prompt_scores.size(), 39u);
}

TEST_F(EngineTest, CancellationEndsARequestWithinTwoSteps) {
  serve::Engine& engine = make({});
  Listener running, waiting, other;
  const serve::Request request{.prompt = {30, 31, 32}, .max_tokens = 40, .temperature = 0.0};
  engine.add(engine.sequences_of(request, {1}, running));
  engine.add(engine.sequences_of(request, {2}, other));
  for (int i = 0; i < 3; ++i) engine.step();
  engine.add(engine.sequences_of(request, {3}, waiting));
  engine.cancel({1});
  engine.cancel({3});
  engine.cancel({99});
  engine.step();
  EXPECT_EQ(running.heard[0].finish->reason, FinishReason::cancelled);
  EXPECT_EQ(waiting.heard[0].finish->reason, FinishReason::cancelled);
  while (engine.step()) {
  }
  EXPECT_EQ(other.heard[0], alone({request}).front());
}

TEST_F(EngineTest, ARowThatIsNotFiniteEndsAloneAndLeavesNothingBehind) {
  opened_ = model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "model/llama_scaled");
  serve::Engine& engine = make({});
  poison_embedding(opened_.model, 9, *executor_);
  Listener bad, good;
  engine.add(
      engine.sequences_of({.prompt = {30, 9, 31}, .max_tokens = 4, .temperature = 0.0}, {1}, bad));
  engine.add(engine.sequences_of({.prompt = {30, 31, 32}, .max_tokens = 4, .temperature = 0.0}, {2},
                                 good));
  while (engine.step()) {
  }
  EXPECT_EQ(bad.heard[0].finish->reason, FinishReason::numeric_failure);
  EXPECT_EQ(engine.counts().numeric_failures, 1);
  EXPECT_TRUE(pages_are_finite());
}

TEST_F(EngineTest, StopIdsAndFiltersEndASequence) {
  const serve::Request free{
      .prompt = {50, 51, 52}, .max_tokens = 12, .temperature = 0.0, .ignore_stop_ids = true};
  const std::vector<std::int32_t> ids = alone({free}).front().ids;
  ASSERT_EQ(ids.size(), 12u);
  serve::Request with_id = free;
  with_id.stop_ids = {ids[4]};
  const auto first = std::ranges::find(ids, ids[4]) - ids.begin();
  const Heard by_id = alone({with_id}).front();
  EXPECT_EQ(std::ssize(by_id.ids), first);
  EXPECT_EQ(by_id.finish->reason, FinishReason::stop);
  EXPECT_EQ(by_id.finish->stop_id, ids[4]);
  EXPECT_EQ(by_id.finish->drawn_tokens, first + 1);

  serve::Request filtered = free;
  filtered.stop_filter = third_token;
  EXPECT_EQ(alone({filtered}).front().ids.size(), 3u);
}

TEST_F(EngineTest, RefusesWhatCanNeverFit) {
  serve::Engine& engine = make({.pages = 5});
  Listener listener;
  EXPECT_THAT(
      [&] {
        engine.sequences_of({.prompt = {1, 2}, .max_tokens = 30}, {1}, listener);
      },
      ThrowsMessage<Error>("request: needs 8 pages of 4 tokens, the cache has 4"));
}

TEST_F(EngineTest, LowerPrioritiesGoFirstAndKeysTakeTurns) {
  serve::Engine& engine = make({.pages = 9});  // room for one at a time
  std::vector<int> order;
  std::vector<Listener> listeners(5);
  const auto add = [&](int i, int priority, std::uint64_t key) {
    listeners[static_cast<std::size_t>(i)].on_finish = [&order, i] { order.push_back(i); };
    serve::Request request{.prompt = std::vector<std::int32_t>(10, 40 + i),
                           .max_tokens = 20,
                           .temperature = 0.0,
                           .ignore_stop_ids = true};
    request.priority = priority;
    request.fairness_key = key;
    engine.add(engine.sequences_of(request, {static_cast<std::uint64_t>(i + 1)},
                                   listeners[static_cast<std::size_t>(i)]));
  };
  add(0, 5, 1);
  add(1, 5, 1);
  add(2, 5, 1);
  add(3, 5, 2);
  add(4, 2, 1);
  while (engine.step()) {
  }
  EXPECT_THAT(order, ElementsAre(4, 3, 0, 1, 2));
}

TEST_F(EngineTest, AThreadServesManyCallers) {
  const std::vector<serve::Request> requests = mixed_requests(8, 12);
  const std::vector<Heard> expected = alone(requests);
  make({});
  serve::EngineThread server(std::move(engine_), {});
  std::vector<Listener> listeners(requests.size());
  std::vector<std::promise<void>> ended(requests.size());
  std::vector<std::jthread> callers;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    listeners[i].on_finish = [&ended, i] { ended[i].set_value(); };
    callers.emplace_back([&, i] { server.submit(requests[i], listeners[i]); });
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ended[i].get_future().wait();
    EXPECT_EQ(listeners[i].heard[0], expected[i]) << i;
  }
  server.between_steps([](serve::Engine& engine) { engine.audit(); });
  EXPECT_EQ(server.counts().running, 0);
  EXPECT_LT(server.seconds_since_progress(), 60);
}

TEST_F(EngineTest, AFullQueueRefusesAndAnEndedServerTellsItsSinks) {
  make({.pages = 10, .queue_sequences = 1});
  std::vector<Listener> listeners(4);
  int refused = 0;
  {
    serve::EngineThread server(std::move(engine_), {});
    for (Listener& listener : listeners) {
      try {
        server.submit({.prompt = {1, 2, 3}, .max_tokens = 30, .ignore_stop_ids = true}, listener);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::exhausted);
        ++refused;
      }
    }
  }
  int ended = 0;
  for (Listener& listener : listeners) ended += listener.heard[0].finish.has_value();
  EXPECT_GE(refused, 1);
  EXPECT_EQ(ended + refused, 4);
}

TEST_F(EngineTest, MoreSequencesThanMayEverWaitAreNoMatterOfTime) {
  make({.pages = 10, .queue_sequences = 2});
  serve::EngineThread server(std::move(engine_), {});
  Listener listener;
  try {
    server.submit({.prompt = {1, 2}, .max_tokens = 3, .sequences = 3}, listener);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
  }
}

TEST_F(EngineTest, WhatIsCancelledBeforeItBeginsHasUsedNothing) {
  make({.pages = 10});
  Listener listener;
  engine_->add(engine_->sequences_of({.prompt = {1, 2, 3}, .max_tokens = 3}, {1}, listener));
  engine_->cancel({1});
  engine_->step();
  ASSERT_TRUE(listener.heard[0].finish.has_value());
  EXPECT_EQ(listener.heard[0].finish->prompt_tokens, 0);
}

}  // namespace
}  // namespace parhelion::app
