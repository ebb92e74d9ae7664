#include "serve/engine.h"

#include "base/error.h"
#include "serve/sampling/parameters.h"

#include <algorithm>
#include <cmath>

namespace parhelion::serve {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t pages_for(const contract::CachePolicy& cache, std::int64_t tokens) {
  return (tokens + cache.page_tokens - 1) / cache.page_tokens;
}

}  // namespace

/// The tokens of one sequence that the device has consumed, and the pages that hold them.
class Engine::Sequence {
 public:
  explicit Sequence(Engine& engine) : engine_(engine) {}
  ~Sequence() { engine_.pool_.give_back(pages_); }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  std::span<const LogitAnswer> extend(std::span<const std::int32_t> tokens,
                                      std::span<const LogitQuery> queries) {
    const auto count = static_cast<std::int64_t>(tokens.size());
    const std::int64_t pages = pages_for(engine_.contract_.cache, consumed_ + count);
    const bool taken = engine_.pool_.take(pages - static_cast<std::int64_t>(pages_.size()), pages_);
    ensure(taken, ErrorKind::bug, "engine: no page left for token {}", consumed_ + count);
    const StepRow row{.tokens = tokens, .position = consumed_, .pages = pages_, .queries = queries};
    consumed_ += count;
    return engine_.stepper_.run({&row, 1});
  }

  std::int64_t consumed() const { return consumed_; }

 private:
  Engine& engine_;
  std::vector<std::int32_t> pages_;
  std::int64_t consumed_ = 0;
};

Engine::Engine(contract::Contract contract, exec::Executor& executor, exec::Weights weights)
    : executor_(executor),
      contract_(std::move(contract)),
      stepper_(contract_, executor, weights),
      pool_(pages_for(contract_.cache, contract_.cache.context_tokens) + 1) {}

void Engine::check_ids(std::span<const std::int32_t> ids) const {
  ensure(!ids.empty(), ErrorKind::invalid, "prompt: is empty, expected at least one token");
  ensure(static_cast<std::int64_t>(ids.size()) <= contract_.cache.context_tokens,
         ErrorKind::invalid, "prompt: has {} tokens, the context holds {}", ids.size(),
         contract_.cache.context_tokens);
  const auto outside =
      std::ranges::find_if(ids, [&](auto id) { return id < 0 || id >= contract_.vocabulary; });
  if (outside == ids.end()) return;
  fail(ErrorKind::invalid, "prompt: token {} is id {}, expected 0 to {}", outside - ids.begin(),
       *outside, contract_.vocabulary - 1);
}

/// Takes what is not finite out of the pages: a kernel may multiply slots that its row does not
/// hold by 0, so a later sequence must not find it there.
void Engine::clear_caches() {
  for (const ir::Buffer& buffer : contract_.extend.buffers) {
    if (buffer.role == ir::Role::state) executor_.clear(buffer.name);
  }
}

Completion Engine::generate(const Request& request,
                            const std::function<void(std::int32_t)>& on_id) {
  check_ids(request.prompt);
  ensure(request.max_tokens >= 1, ErrorKind::invalid, "max_tokens: is {}, expected at least 1",
         request.max_tokens);
  const LogitQuery draw{.sampling = effective_sampling(contract_.sampling, request)};
  const auto begin = Clock::now();
  Sequence sequence(*this);
  std::span<const std::int32_t> prompt = request.prompt;
  const auto chunk = static_cast<std::size_t>(stepper_.most_tokens(1));
  for (; prompt.size() > chunk; prompt = prompt.subspan(chunk))
    sequence.extend(prompt.first(chunk), {});
  LogitQuery query = draw;
  query.token = static_cast<std::int64_t>(prompt.size()) - 1;
  LogitAnswer answer = sequence.extend(prompt, {&query, 1}).front();
  Completion completion{.prefill = Clock::now() - begin};
  for (;;) {
    if (answer.sampled < 0) clear_caches();
    ensure(answer.sampled >= 0, ErrorKind::corrupt,
           "token {}: the model's logits have no finite maximum", sequence.consumed());
    if (std::ranges::count(contract_.stop_ids, answer.sampled) != 0) {
      completion.reason = FinishReason::stop;
      break;
    }
    completion.ids.push_back(answer.sampled);
    completion.log_probabilities.push_back(answer.sampled_log_probability);
    on_id(answer.sampled);
    const bool full = sequence.consumed() >= contract_.cache.context_tokens;
    if (full || static_cast<std::int64_t>(completion.ids.size()) >= request.max_tokens) break;
    answer = sequence.extend({&completion.ids.back(), 1}, {&draw, 1}).front();
  }
  completion.decode = Clock::now() - begin - completion.prefill;
  return completion;
}

std::vector<float> Engine::score(std::span<const std::int32_t> ids, std::int64_t chunk_tokens) {
  check_ids(ids);
  const auto count = static_cast<std::int64_t>(ids.size());
  std::int64_t chunk = chunk_tokens;
  for (std::int64_t most = chunk == 0 ? stepper_.most_tokens(1) : 0; most > 0; --most) {
    if (stepper_.most_tokens(most) >= most) {
      chunk = most;
      break;
    }
  }
  ensure(chunk > 0 && stepper_.most_tokens(chunk) >= chunk, ErrorKind::invalid,
         "score: no instance has logit rows for chunks of {} tokens", chunk);
  Sequence sequence(*this);
  std::vector<float> result;
  std::vector<LogitQuery> queries;
  for (std::int64_t first = 0; first < count; first += chunk) {
    const std::int64_t size = std::min(chunk, count - first);
    queries.clear();
    for (std::int64_t i = 0; i < size && first + i + 1 < count; ++i) {
      queries.push_back(
          {.token = i, .target = ids[static_cast<std::size_t>(first + i + 1)], .sampling = {}});
    }
    const auto tokens =
        ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
    for (const LogitAnswer& answer : sequence.extend(tokens, queries))
      result.push_back(answer.target_log_probability);
  }
  if (!std::ranges::all_of(result, [](float value) { return std::isfinite(value); }))
    clear_caches();
  return result;
}

}  // namespace parhelion::serve
