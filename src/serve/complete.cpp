#include "serve/complete.h"

#include "base/error.h"

#include <utility>

namespace parhelion::serve {
namespace {

using Clock = std::chrono::steady_clock;

class Collector final : public Sink {
 public:
  explicit Collector(const std::function<void(std::int32_t)>& on_id) : on_id_(on_id) {}

  void take(const TokenEvent& event) override {
    if (event.in_prompt) {
      prompt_scores.push_back(event.token.log_probability);
      return;
    }
    if (completion.ids.empty()) mark_first();
    completion.ids.push_back(event.token.id);
    completion.log_probabilities.push_back(event.token.log_probability);
    on_id_(event.token.id);
  }

  void take(const FinishEvent& event) override {
    if (completion.ids.empty()) mark_first();
    completion.decode = Clock::now() - first_;
    completion.reason = event.reason;
  }

  Completion completion;
  std::vector<float> prompt_scores;

 private:
  void mark_first() {
    first_ = Clock::now();
    completion.prefill = first_ - begin_;
  }

  const std::function<void(std::int32_t)>& on_id_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point first_;
};

void run_to_end(Engine& engine, Request request, Collector& collector) {
  engine.add(engine.sequences_of(std::move(request), {}, collector));
  while (engine.step()) {
  }
  ensure(collector.completion.reason != FinishReason::numeric_failure, ErrorKind::corrupt,
         "token {} of the answer: the model's logits have no finite maximum",
         collector.completion.ids.size());
}

}  // namespace

Completion complete(Engine& engine, Request request,
                    const std::function<void(std::int32_t)>& on_id) {
  Collector collector(on_id);
  run_to_end(engine, std::move(request), collector);
  return std::move(collector.completion);
}

std::vector<float> score(Engine& engine, std::span<const std::int32_t> ids) {
  const std::function<void(std::int32_t)> ignore = [](std::int32_t) {};
  Collector collector(ignore);
  run_to_end(
      engine,
      {.prompt = {ids.begin(), ids.end()}, .temperature = 0.0, .prompt_log_probabilities = true},
      collector);
  return std::move(collector.prompt_scores);
}

}  // namespace parhelion::serve
