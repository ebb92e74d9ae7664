#include "app/engine_support.h"
#include "base/error.h"

#include <gmock/gmock.h>

namespace parhelion::app {
namespace {

using serve::FinishReason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class EngineEdits : public EngineTest {};

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

TEST_F(EngineEdits, EditsChangeTheirOwnSequenceAlone) {
  const std::vector<serve::Request> requests = edited_requests();
  const std::vector<Heard> expected = alone(requests);
  for (const bool overlaps : {false, true})
    EXPECT_EQ(together(make({.overlaps = overlaps}), requests), expected);
  for (const std::int32_t id : expected[3].ids) EXPECT_TRUE(id == 60 || id == 61);
  for (const std::int32_t id : expected[5].ids) EXPECT_TRUE(id >= 70 && id <= 72);
  EXPECT_EQ(std::ranges::count(expected[7].ids, 7), 0);
  EXPECT_EQ(expected[7].ids.size(), 12u);
}

TEST_F(EngineEdits, PenaltiesMakeIdsTakeTurns) {
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

struct Events final : serve::Sink {
  void take(const serve::TokenEvent& event) override { events.push_back(event); }
  void take(const serve::FinishEvent&) override {}
  std::vector<serve::TokenEvent> events;
};

TEST_F(EngineEdits, TopTokensBeginWithTheLikeliest) {
  Events sink;
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

TEST_F(EngineEdits, AMaskThatLeavesNothingEndsTheSequence) {
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

TEST_F(EngineEdits, AMaskOrFilterThatFailsEndsItsSequenceAlone) {
  struct Failing final : serve::TokenMask {
    explicit Failing(bool of_fill) : at_fill(of_fill) {}
    void fill(std::span<std::uint32_t> bits) override {
      ensure(!at_fill || accepted < 2, ErrorKind::exhausted, "too many ways");
      std::ranges::fill(bits, ~0u);
    }
    void accept(std::int32_t) override {
      ensure(at_fill || accepted < 2, ErrorKind::exhausted, "too many ways");
      ++accepted;
    }
    bool at_fill;
    int accepted = 0;
  };
  struct FailingFilter final : serve::StopFilter {
    bool accept(std::int32_t) override { fail(ErrorKind::exhausted, "too long"); }
  };
  const serve::Request plain{.prompt = {50, 51}, .max_tokens = 9, .temperature = 0.0};
  const Heard undisturbed = alone({plain}).front();
  for (const bool at_fill : {true, false}) {
    serve::Request failing = plain;
    failing.token_mask = [at_fill](std::int64_t) { return std::make_unique<Failing>(at_fill); };
    const auto heard = together(make({}), {failing, plain});
    EXPECT_EQ(heard[0].finish->reason, FinishReason::rules_failed);
    EXPECT_EQ(heard[0].ids.size(), 2u);
    EXPECT_EQ(heard[1].ids, undisturbed.ids);
  }
  serve::Request filtered = plain;
  filtered.stop_filter = [](std::int64_t) { return std::make_unique<FailingFilter>(); };
  const auto heard = together(make({}), {filtered, plain});
  EXPECT_EQ(heard[0].finish->reason, FinishReason::rules_failed);
  EXPECT_EQ(heard[1].ids, undisturbed.ids);
}

TEST_F(EngineEdits, ThePromptsTokensHaveTheirLikeliestToo) {
  serve::Request request{.prompt = {50, 51, 52, 53}, .max_tokens = 0, .temperature = 0.0};
  request.prompt_log_probabilities = true;
  request.top_tokens = 2;
  Events sink;
  serve::Engine& engine = make({});
  engine.add(engine.sequences_of(request, {1}, sink));
  while (engine.step()) {
  }
  ASSERT_EQ(sink.events.size(), 3u);
  for (const serve::TokenEvent& event : sink.events) {
    ASSERT_EQ(event.top_count, 2);
    EXPECT_GE(event.top[0].log_probability, event.token.log_probability);
    EXPECT_GE(event.top[0].log_probability, event.top[1].log_probability);
    EXPECT_LT(event.top[0].log_probability, 0);
  }
}

TEST_F(EngineEdits, BadEditsAreNamed) {
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

}  // namespace
}  // namespace parhelion::app
