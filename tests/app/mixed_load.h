#pragma once

#include "base/random.h"
#include "serve/engine.h"
#include "support/allocation_count.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace parhelion::app {

/// A client that keeps no more than counts, so that hearing costs no memory.
class CountingSink final : public serve::Sink {
 public:
  void take(const serve::TokenEvent&) override { ++tokens; }
  void take(const serve::FinishEvent& event) override {
    --unfinished;
    ++finishes.at(static_cast<std::size_t>(event.reason));
  }

  std::int64_t unfinished = 0;
  std::int64_t tokens = 0;
  std::array<std::int64_t, static_cast<std::size_t>(serve::FinishReason::failed) + 1> finishes = {};
  serve::Ticket ticket = {};
};

/// Allows a third of the ids, another third after each.
class ThirdOfIds final : public serve::TokenMask {
 public:
  void fill(std::span<std::uint32_t> bits) override {
    std::ranges::fill(bits, 0x49249249u << (accepted_ % 3));
  }
  void accept(std::int32_t) override { ++accepted_; }

 private:
  std::int64_t accepted_ = 0;
};

/// A load of everything that an engine can be asked for: prompts that begin alike, answers of all
/// lengths, several of one request, scores, edits, masks, priorities, and cancellations at any
/// time.
class MixedLoad {
 public:
  MixedLoad(serve::Engine& engine, std::uint64_t seed, std::size_t clients)
      : engine_(engine), seed_(seed) {
    for (std::size_t i = 0; i < clients; ++i) sinks_.push_back(std::make_unique<CountingSink>());
  }

  /// Lets idle clients ask and some give up, and runs a step.
  void step() {
    for (const auto& sink : sinks_) {
      if (sink->unfinished == 0 && draw(3) == 0) ask(*sink);
    }
    CountingSink& any = *sinks_[draw(static_cast<std::uint32_t>(sinks_.size()))];
    const bool cancels = any.unfinished > 0 && draw(12) == 0;
    const std::int64_t before = test::allocation_count();
    if (cancels) engine_.cancel(any.ticket);
    engine_.step();
    allocations += test::allocation_count() - before;
  }

  /// Runs until every client has had its answer.
  void finish() {
    const std::int64_t before = test::allocation_count();
    while (engine_.step()) {
    }
    allocations += test::allocation_count() - before;
  }

  std::int64_t finishes(serve::FinishReason reason) const {
    std::int64_t count = 0;
    for (const auto& sink : sinks_) count += sink->finishes.at(static_cast<std::size_t>(reason));
    return count;
  }
  std::int64_t unfinished() const {
    std::int64_t count = 0;
    for (const auto& sink : sinks_) count += sink->unfinished;
    return count;
  }

  std::int32_t poison = -1;  ///< an id whose logits are not finite, in some prompts; -1: none
  std::int64_t requests = 0;
  std::int64_t allocations = 0;  ///< of the process, while the engine worked

 private:
  std::uint32_t draw(std::uint32_t limit) { return philox(seed_, drawn_++, 0)[0] % limit; }
  /// Ids from 10 on: no stop id, and no poison.
  std::uint32_t ids() const {
    return static_cast<std::uint32_t>(engine_.contract().vocabulary - 10);
  }
  std::int32_t token() { return static_cast<std::int32_t>(10 + draw(ids())); }

  std::vector<std::int32_t> prompt() {
    std::vector<std::int32_t> tokens;
    const std::uint32_t family = draw(6);
    const std::uint32_t shared = family < 4 ? 4 + draw(28) : 0;  // the others begin by themselves
    for (std::uint32_t i = 0; i < shared; ++i)
      tokens.push_back(static_cast<std::int32_t>(10 + (family * 67 + i * 13) % ids()));
    for (std::uint32_t length = 1 + draw(12); length > 0; --length) tokens.push_back(token());
    return tokens;
  }

  void add_edits(serve::Request& request) {
    switch (draw(8)) {
      case 0:
        request.repetition_penalty = 1.3;
        break;
      case 1:
        request.presence_penalty = 1.0;
        request.frequency_penalty = 0.5;
        break;
      case 2:
        request.logit_bias = {{token(), 20.0f}, {token(), -20.0f}};
        break;
      case 3:
        request.token_mask = [](std::int64_t) { return std::make_unique<ThirdOfIds>(); };
        break;
      case 4:
        request.top_tokens = 3;
        break;
      default:
        break;  // three of eight have none
    }
  }

  void ask(CountingSink& sink) {
    serve::Request request{.prompt = prompt(), .max_tokens = 1 + draw(18), .seed = drawn_};
    request.temperature = draw(3) == 0 ? 0.0 : 1.0;
    request.prompt_log_probabilities = draw(10) == 0;
    request.sequences = draw(6) == 0 ? 3 : 1;
    request.priority = static_cast<int>(draw(10));
    request.fairness_key = draw(5);
    request.cache_salt = draw(2);
    if (draw(2) == 0) add_edits(request);
    if (poison >= 0 && draw(50) == 0) request.prompt.back() = poison;
    sink.ticket = {static_cast<std::uint64_t>(++requests)};
    sink.unfinished = request.sequences;
    auto sequences = engine_.sequences_of(std::move(request), sink.ticket, sink);
    const std::int64_t before = test::allocation_count();
    engine_.add(std::move(sequences));
    allocations += test::allocation_count() - before;
  }

  serve::Engine& engine_;
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  std::vector<std::unique_ptr<CountingSink>> sinks_;
};

}  // namespace parhelion::app
