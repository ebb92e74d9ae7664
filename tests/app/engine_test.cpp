#include "app/in_memory_contract.h"
#include "app/weights.h"
#include "base/error.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "model/open.h"
#include "serve/complete.h"
#include "serve/engine_thread.h"

#include <gmock/gmock.h>

#include <future>
#include <map>
#include <numeric>

namespace parhelion::app {
namespace {

using serve::FinishReason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

ir::Capacities many_rows(std::int64_t tokens, std::int64_t rows, std::int64_t logit_rows) {
  ir::Capacities result;
  result[ir::Symbol::tokens] = tokens;
  result[ir::Symbol::rows] = rows;
  result[ir::Symbol::logit_rows] = logit_rows;
  return result;
}

/// What one sequence said.
struct Heard {
  std::vector<std::int32_t> ids;
  std::vector<float> log_probabilities;
  std::vector<float> prompt_scores;
  std::optional<serve::FinishEvent> finish;
  bool operator==(const Heard& other) const {
    return ids == other.ids && log_probabilities == other.log_probabilities &&
           prompt_scores == other.prompt_scores && finish->reason == other.finish->reason;
  }
};

class Listener final : public serve::Sink {
 public:
  void take(const serve::TokenEvent& event) override {
    Heard& to = heard[event.sequence];
    if (event.in_prompt) {
      to.prompt_scores.push_back(event.token.log_probability);
    } else {
      to.ids.push_back(event.token.id);
      to.log_probabilities.push_back(event.token.log_probability);
    }
    if (on_token) on_token();
  }
  void take(const serve::FinishEvent& event) override {
    EXPECT_FALSE(heard[event.sequence].finish.has_value()) << "ended twice";
    heard[event.sequence].finish = event;
    if (on_finish) on_finish();
  }

  std::map<std::int64_t, Heard> heard;
  std::function<void()> on_token, on_finish;
};

/// Engines over the tiny model: pages of 4 tokens, a context of 64, up to 6 rows.
class EngineTest : public testing::Test {
 protected:
  EngineTest()
      : opened_(
            model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "model/llama_tiny")) {}

  serve::Engine& make(serve::EngineSettings settings) {
    contract::Contract contract = make_contract(
        opened_.model, {.kind = ir::Kind::f32,
                        .context_tokens = 64,
                        .catalogue = {many_rows(1, 1, 1), many_rows(6, 6, 6), many_rows(8, 6, 8),
                                      many_rows(24, 6, 6)},
                        .page_tokens = 4,
                        .slots = 6,
                        .edited_catalogue = {many_rows(6, 6, 6), many_rows(24, 6, 6)}});
    contract.stop_ids = {7};
    if (settings.pages == 0) settings.pages = 200;
    settings.audit_every = 1;
    executor_ = exec::make_cpu_executor({.threads = 1});
    engine_ = std::make_unique<serve::Engine>(std::move(contract), *executor_, settings);
    upload_weights(opened_, ir::Kind::f32, *executor_);
    return *engine_;
  }

  /// What each request says alone, in an engine of its own without a cache.
  std::vector<Heard> alone(const std::vector<serve::Request>& requests) {
    std::vector<Heard> result;
    for (const serve::Request& request : requests) {
      serve::Engine& engine = make({.shares_prefixes = false});
      Listener listener;
      engine.add(engine.sequences_of(request, {1}, listener));
      while (engine.step()) {
      }
      result.push_back(listener.heard[0]);
    }
    return result;
  }

  /// What they say together; each joins after so many steps as its place says.
  static std::vector<Heard> together(serve::Engine& engine,
                                     const std::vector<serve::Request>& requests) {
    std::vector<Listener> listeners(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      engine.add(engine.sequences_of(requests[i], {i + 1}, listeners[i]));
      engine.step();
    }
    while (engine.step()) {
    }
    engine.audit();
    std::vector<Heard> result;
    for (Listener& listener : listeners) result.push_back(listener.heard[0]);
    return result;
  }

  model::OpenedModel opened_;
  std::unique_ptr<exec::Executor> executor_;
  std::unique_ptr<serve::Engine> engine_;
};

/// Requests of all lengths, half of which begin alike.
std::vector<serve::Request> mixed_requests(std::uint64_t seed, std::size_t count) {
  std::vector<serve::Request> requests;
  std::uint64_t at = 0;
  const auto draw = [&](std::uint32_t limit) {
    return static_cast<std::int32_t>(philox(seed, at++, 0)[0] % limit);
  };
  for (std::size_t i = 0; i < count; ++i) {
    serve::Request request{.max_tokens = 1 + draw(20)};
    if (i % 2 == 0) request.prompt = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    for (std::int32_t length = 1 + draw(25); length > 0; --length)
      request.prompt.push_back(10 + draw(300));
    request.temperature = draw(3) == 0 ? 0.0 : 1.0;
    request.seed = i;
    request.prompt_log_probabilities = draw(4) == 0;
    requests.push_back(request);
  }
  return requests;
}

std::unique_ptr<serve::StopFilter> third_token(std::int64_t) {
  struct ThirdToken final : serve::StopFilter {
    bool accept(std::int32_t) override { return ++seen == 3; }
    int seen = 0;
  };
  return std::make_unique<ThirdToken>();
}

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

TEST_F(EngineTest, TokensDoNotDependOnStepsThatOverlap) {
  std::vector<serve::Request> requests = mixed_requests(9, 24);
  for (std::size_t i = 0; i < requests.size(); i += 2) requests[i].stop_filter = third_token;
  const std::vector<Heard> expected = alone(requests);
  serve::Engine& engine = make({.overlaps = true});
  EXPECT_EQ(together(engine, requests), expected);
  EXPECT_GT(engine.counts().discarded_tokens, 0);
  EXPECT_EQ(together(engine, requests), expected) << "with a warm cache";
}

/// Requests that ask for each kind of edit.
std::vector<serve::Request> edited_requests() {
  std::vector<serve::Request> requests = mixed_requests(10, 14);
  for (serve::Request& request : requests) request.ignore_stop_ids = true;
  requests[0].repetition_penalty = 1.3;
  requests[1].presence_penalty = 1.5;
  requests[2].frequency_penalty = 0.7;
  requests[3].logit_bias = {{60, 50.0f}, {61, 49.5f}};
  requests[4].bad_ids = {60, 61, 62};
  requests[5].allowed_ids = {70, 71, 72};
  requests[6].top_tokens = 5;
  requests[7].max_tokens = 12;
  requests[7].min_tokens = 12;
  requests[7].ignore_stop_ids = false;
  requests[7].logit_bias = {{7, 100.0f}};  // the stop id
  return requests;
}

TEST_F(EngineTest, EditsChangeTheirOwnSequenceAlone) {
  const std::vector<serve::Request> requests = edited_requests();
  const std::vector<Heard> expected = alone(requests);
  for (const bool overlaps : {false, true})
    EXPECT_EQ(together(make({.overlaps = overlaps}), requests), expected);
  for (const std::int32_t id : expected[3].ids) EXPECT_TRUE(id == 60 || id == 61);
  for (const std::int32_t id : expected[5].ids) EXPECT_TRUE(id >= 70 && id <= 72);
  EXPECT_EQ(std::ranges::count(expected[7].ids, 7), 0);
  EXPECT_EQ(expected[7].ids.size(), 12u);
}

TEST_F(EngineTest, PenaltiesMakeIdsTakeTurns) {
  serve::Request request{.prompt = {50, 51, 52},
                         .max_tokens = 12,
                         .temperature = 0.0,
                         .presence_penalty = 2.0,
                         .frequency_penalty = 2.0,
                         .allowed_ids = {70, 71, 72},
                         .ignore_stop_ids = true};
  const auto spread = [](const std::vector<std::int32_t>& ids) {
    const auto count = [&](std::int32_t id) { return std::ranges::count(ids, id); };
    const auto [least, most] = std::minmax({count(70), count(71), count(72)});
    return most - least;
  };
  EXPECT_LE(spread(alone({request}).front().ids), 3);
  request.presence_penalty = request.frequency_penalty = -2.0;  // what came once comes again
  EXPECT_GE(spread(alone({request}).front().ids), 11);
}

TEST_F(EngineTest, TopTokensBeginWithTheLikeliest) {
  struct Tops final : serve::Sink {
    void take(const serve::TokenEvent& event) override { events.push_back(event); }
    void take(const serve::FinishEvent&) override {}
    std::vector<serve::TokenEvent> events;
  } sink;
  serve::Engine& engine = make({});
  engine.add(engine.sequences_of(
      {.prompt = {50, 51, 52}, .max_tokens = 4, .temperature = 0.0, .top_tokens = 3}, {1}, sink));
  while (engine.step()) {
  }
  ASSERT_FALSE(sink.events.empty());
  for (const serve::TokenEvent& event : sink.events) {
    ASSERT_EQ(event.top_count, 3);
    EXPECT_EQ(event.top[0].id, event.token.id);
    EXPECT_EQ(event.top[0].log_probability, event.token.log_probability);
    EXPECT_GE(event.top[1].log_probability, event.top[2].log_probability);
  }
}

TEST_F(EngineTest, AMaskThatLeavesNothingEndsTheSequence) {
  struct TwoThenNone final : serve::TokenMask {
    void fill(std::span<std::uint32_t> bits) override {
      std::ranges::fill(bits, 0u);
      if (accepted < 2) bits[3] = 1u << 4;  // id 100
    }
    void accept(std::int32_t id) override {
      EXPECT_EQ(id, 100);
      ++accepted;
    }
    int accepted = 0;
  };
  serve::Request request{.prompt = {50, 51}, .max_tokens = 9, .temperature = 1.0};
  request.token_mask = [](std::int64_t) { return std::make_unique<TwoThenNone>(); };
  const Heard heard = alone({request}).front();
  EXPECT_THAT(heard.ids, ElementsAre(100, 100));
  EXPECT_EQ(heard.finish->reason, FinishReason::no_allowed_token);
}

TEST_F(EngineTest, BadEditsAreNamed) {
  serve::Engine& engine = make({});
  Listener listener;
  const auto ask = [&](serve::Request request) {
    request.prompt = {1, 2};
    request.max_tokens = 3;
    return [&engine, &listener, request] { engine.sequences_of(request, {1}, listener); };
  };
  EXPECT_THAT(ask({.repetition_penalty = 0.0}),
              ThrowsMessage<Error>(HasSubstr("repetition_penalty: is 0")));
  EXPECT_THAT(ask({.presence_penalty = 3.0}),
              ThrowsMessage<Error>("presence_penalty: is 3, expected -2 to 2"));
  EXPECT_THAT(ask({.logit_bias = {{5, 101.0f}}}),
              ThrowsMessage<Error>("logit_bias: id 5 has 101, expected -100 to 100"));
  EXPECT_THAT(ask({.bad_ids = {320}}), ThrowsMessage<Error>("bad_ids: id 320, expected 0 to 319"));
  EXPECT_THAT(ask({.min_tokens = 4}),
              ThrowsMessage<Error>("min_tokens: is 4, expected 0 to max_tokens (3)"));
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
  const auto kept = executor_->download("model.embed_tokens.weight");
  const std::vector<std::byte> embedding(kept.begin(), kept.end());
  const std::size_t row_bytes =
      embedding.size() / static_cast<std::size_t>(opened_.model.vocabulary);
  executor_->upload("model.embed_tokens.weight", [&](std::span<std::byte> bytes) {
    std::ranges::copy(embedding, bytes.begin());
    std::ranges::fill(bytes.subspan(9 * row_bytes, row_bytes), std::byte{0xff});  // NaN
  });
  Listener bad, good;
  engine.add(
      engine.sequences_of({.prompt = {30, 9, 31}, .max_tokens = 4, .temperature = 0.0}, {1}, bad));
  engine.add(engine.sequences_of({.prompt = {30, 31, 32}, .max_tokens = 4, .temperature = 0.0}, {2},
                                 good));
  while (engine.step()) {
  }
  EXPECT_EQ(bad.heard[0].finish->reason, FinishReason::numeric_failure);
  EXPECT_EQ(engine.counts().numeric_failures, 1);
  const auto pages = executor_->download("cache.layers.0.value");
  const auto* values = reinterpret_cast<const float*>(pages.data());
  EXPECT_TRUE(std::all_of(values, values + pages.size() / sizeof(float),
                          [](float value) { return std::isfinite(value); }));
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

}  // namespace
}  // namespace parhelion::app
