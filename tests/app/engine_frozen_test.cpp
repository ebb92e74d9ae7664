#include "app/engine_support.h"
#include "app/mixed_load.h"
#include "base/error.h"
#include "serve/engine_thread.h"

#include <gmock/gmock.h>

#include <future>

namespace parhelion::app {
namespace {

using serve::FinishReason;
using serve::Phase;
using testing::ThrowsMessage;

constexpr std::chrono::seconds kLong{60};

class FrozenEngine : public EngineTest {
 protected:
  FrozenEngine() { threads_ = 2; }

  /// Steps of a mixed load after warm-up.
  MixedLoad run_mixed(const serve::EngineSettings& settings, int steps) {
    serve::Engine& engine = make(settings);
    EXPECT_EQ(engine.warm_up(kLong), 0);
    MixedLoad load(engine, 21, 12);
    for (int i = 0; i < steps; ++i) load.step();
    load.finish();
    EXPECT_EQ(load.unfinished(), 0);
    EXPECT_GT(load.finishes(FinishReason::length), 0);
    EXPECT_GT(load.finishes(FinishReason::cancelled), 0);
    EXPECT_EQ(load.finishes(FinishReason::failed), 0);
    return load;
  }
};

TEST_F(FrozenEngine, AllocatesNothingWhereTheWorstCaseIsKept) {
  EXPECT_EQ(run_mixed({.pages = 40}, 1500).allocations, 0);
  EXPECT_GT(engine_->counts().evicted_pages, 0);
  EXPECT_GT(engine_->counts().cached_tokens, 0);
}

TEST_F(FrozenEngine, AllocatesNothingWhereSequencesGiveWay) {
  EXPECT_EQ(run_mixed({.pages = 24, .reserve = serve::Reserve::grow}, 1500).allocations, 0);
  EXPECT_GT(engine_->counts().preemptions, 0);
}

TEST_F(FrozenEngine, AllocatesNothingWhereStepsOverlap) {
  EXPECT_EQ(
      run_mixed({.pages = 24, .reserve = serve::Reserve::grow, .overlaps = true}, 1500).allocations,
      0);
  EXPECT_GT(engine_->counts().preemptions, 0);
}

/// What the thread of an engine has asked for so far.
std::int64_t allocations_of(serve::EngineThread& server) {
  std::int64_t count = 0;
  server.between_steps([&](serve::Engine&) { count = test::thread_allocation_count(); });
  return count;
}

bool have_ended(serve::EngineThread& server, const std::vector<CountingSink>& sinks) {
  bool all = false;
  server.between_steps([&](serve::Engine&) {
    all = std::ranges::all_of(sinks, [](const auto& sink) { return sink.unfinished == 0; });
  });
  return all;
}

TEST_F(FrozenEngine, ItsThreadAllocatesNothingForManyCallers) {
  make({.pages = 40});
  serve::EngineThread server(std::move(engine_), {});
  // There, since OpenMP gives every thread that computes helpers of its own.
  server.between_steps([](serve::Engine& engine) { engine.warm_up(kLong); });
  const std::vector<serve::Request> requests = mixed_requests(8, 40);
  std::vector<CountingSink> sinks(requests.size());
  const std::int64_t before = allocations_of(server);
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      callers.emplace_back([&, i] {
        sinks[i].unfinished = 1;
        const serve::Ticket ticket = server.submit(requests[i], sinks[i]);
        if (i % 5 == 0) server.cancel(ticket);
      });
    }
  }
  while (!have_ended(server, sinks)) {
  }
  EXPECT_EQ(allocations_of(server), before);
  EXPECT_GT(server.counts().steps, 0);
}

TEST_F(FrozenEngine, WarmsEveryInstanceAndLeavesNoTrace) {
  serve::Engine& engine = make({});
  EXPECT_EQ(engine.phase(), Phase::load);
  EXPECT_EQ(engine.warm_up(kLong), 0);
  EXPECT_EQ(engine.phase(), Phase::serve);
  const auto keys = executor_->download("cache.layers.0.key");
  EXPECT_TRUE(std::ranges::all_of(keys, [](std::byte byte) { return byte == std::byte{0}; }));
  engine.audit();
  const serve::Request request{.prompt = {30, 31, 32}, .max_tokens = 8, .temperature = 0.0};
  Listener listener;
  engine.add(engine.sequences_of(request, {1}, listener));
  while (engine.step()) {
  }
  const Heard warmed = listener.heard[0];
  EXPECT_EQ(warmed, alone({request}).front());
}

TEST_F(FrozenEngine, WarmsNoLongerThanItMay) {
  serve::Engine& engine = make({});
  const auto instances = std::ssize(engine.stepper().instances(serve::StepKind::plain).catalogue) +
                         std::ssize(engine.stepper().instances(serve::StepKind::edited).catalogue);
  EXPECT_EQ(engine.warm_up(std::chrono::seconds(0)), instances);
  EXPECT_EQ(engine.phase(), Phase::serve);
  EXPECT_THAT([&] { engine.warm_up(kLong); },
              ThrowsMessage<Error>("engine: is warmed in phase serve, expected load"));
}

TEST_F(FrozenEngine, DrainsToItsEnd) {
  serve::Engine& engine = make({});
  Listener first, second;
  const serve::Request request{.prompt = {30, 31}, .max_tokens = 5, .ignore_stop_ids = true};
  engine.add(engine.sequences_of(request, {1}, first));
  engine.step();
  engine.drain();
  EXPECT_EQ(engine.phase(), Phase::drain);
  EXPECT_THAT([&] { engine.add(engine.sequences_of(request, {2}, second)); },
              ThrowsMessage<Error>("engine: is in phase drain, takes no more requests"));
  while (engine.step()) {
  }
  EXPECT_EQ(first.heard[0].ids.size(), 5u);
  engine.end_all(FinishReason::cancelled);
  EXPECT_EQ(engine.phase(), Phase::stopped);
}

TEST_F(FrozenEngine, ADrainingThreadRefusesRequestsAndEndsThoseItHas) {
  make({});
  serve::EngineThread server(std::move(engine_), {});
  Listener first, second;
  std::promise<void> ended;
  first.on_finish = [&] { ended.set_value(); };
  const serve::Request request{.prompt = {30, 31}, .max_tokens = 9, .ignore_stop_ids = true};
  server.submit(request, first);
  server.drain();
  EXPECT_THAT([&] { server.submit(request, second); },
              ThrowsMessage<Error>("engine: drains and takes no more requests"));
  ended.get_future().wait();
  EXPECT_EQ(first.heard[0].finish->reason, FinishReason::length);
  server.between_steps([](serve::Engine& engine) { EXPECT_EQ(engine.phase(), Phase::drain); });
}

}  // namespace
}  // namespace parhelion::app
