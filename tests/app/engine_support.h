#pragma once

#include "app/poison.h"
#include "app/weights.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "model/open.h"
#include "prepare/make_contract.h"
#include "serve/engine.h"
#include "support/capacities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace parhelion::app {

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

  contract::Contract contract() const {
    contract::Contract contract = prepare::make_contract(opened_.model, shape_);
    contract.stop_ids = {7};
    return contract;
  }

  serve::Engine& make(serve::EngineSettings settings) {
    contract::Contract contract = this->contract();
    if (settings.pages == 0) settings.pages = 200;
    settings.audit_every = 1;
    executor_ = exec::make_cpu_executor({.threads = threads_});
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

  bool pages_are_finite() const {
    const auto pages = executor_->download("cache.layers.0.value");
    const auto* values = reinterpret_cast<const float*>(pages.data());
    return std::all_of(values, values + pages.size() / sizeof(float),
                       [](float value) { return std::isfinite(value); });
  }

  model::OpenedModel opened_;
  prepare::ServingShape shape_ = {
      .kind = ir::Kind::f32,
      .context_tokens = 64,
      .catalogue = {test::step_capacities(1, 1, 1), test::step_capacities(6, 6, 6),
                    test::step_capacities(8, 6, 8), test::step_capacities(24, 6, 6)},
      .page_tokens = 4,
      .slots = 6,
      .edited_catalogue = {test::step_capacities(6, 6, 6), test::step_capacities(24, 6, 6)}};
  int threads_ = 1;
  std::unique_ptr<exec::Executor> executor_;
  std::unique_ptr<serve::Engine> engine_;
};

/// Requests of all lengths, half of which begin alike.
inline std::vector<serve::Request> mixed_requests(std::uint64_t seed, std::size_t count) {
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

inline std::unique_ptr<serve::StopFilter> third_token(std::int64_t) {
  struct ThirdToken final : serve::StopFilter {
    bool accept(std::int32_t) override { return ++seen == 3; }
    int seen = 0;
  };
  return std::make_unique<ThirdToken>();
}

}  // namespace parhelion::app
