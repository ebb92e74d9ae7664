#include "serve/engine.h"

#include "base/error.h"

#include <algorithm>
#include <chrono>

namespace parhelion::serve {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// How often others may be admitted before a sequence that does not fit.
constexpr std::int64_t kMostBypassed = 8;

std::int64_t pages_of(const contract::Contract& contract, std::int64_t asked) {
  const contract::CachePolicy& cache = contract.cache;
  const std::int64_t one = (cache.context_tokens + cache.page_tokens - 1) / cache.page_tokens;
  return asked == 0 ? one + 1 : asked;
}

/// Sequences that can decode in one step.
std::int64_t most_rows_of(std::span<const ir::Capacities> catalogue) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : catalogue) {
    most = std::max(most, std::min({instance[ir::Symbol::rows], instance[ir::Symbol::logit_rows],
                                    instance[ir::Symbol::tokens]}));
  }
  return most;
}

std::int64_t most_queries_of(std::span<const ir::Capacities> catalogue) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : catalogue)
    most = std::max(most, instance[ir::Symbol::logit_rows]);
  return most;
}

bool is_stop_id(const contract::Contract& contract, const Request& request, std::int32_t id) {
  if (std::ranges::count(request.stop_ids, id) != 0) return true;
  return !request.ignore_stop_ids && std::ranges::count(contract.stop_ids, id) != 0;
}

bool edits_logits(const Request& request) {
  return request.repetition_penalty.value_or(1) != 1 || request.presence_penalty.value_or(0) != 0 ||
         request.frequency_penalty.value_or(0) != 0 || request.min_tokens > 0 ||
         request.top_tokens > 0 || !request.logit_bias.empty() || !request.bad_ids.empty() ||
         !request.allowed_ids.empty() || request.token_mask;
}

}  // namespace

Engine::Engine(contract::Contract contract, exec::Executor& executor,
               const EngineSettings& settings)
    : executor_(executor),
      contract_(std::move(contract)),
      settings_(settings),
      stepper_(contract_, executor, settings.weights, pages_of(contract_, settings.pages)),
      most_rows_(most_rows_of(stepper_.catalogue())),
      cache_(pages_of(contract_, settings.pages), contract_.cache.page_tokens),
      queue_(settings.queue_sequences + most_rows_, settings.ageing),
      budget_(stepper_.catalogue(), settings.step_target) {
  // Weights that change would make what is cached out of date.
  if (settings_.weights == exec::Weights::trained) settings_.shares_prefixes = false;
  poisoned_.pages.reserve(static_cast<std::size_t>(cache_.total_count()));
  running_.reserve(static_cast<std::size_t>(most_rows_));
  parts_.reserve(static_cast<std::size_t>(most_rows_));
  rows_.reserve(static_cast<std::size_t>(most_rows_));
  queries_.reserve(static_cast<std::size_t>(most_queries_of(stepper_.catalogue())));
}

std::vector<std::unique_ptr<Sequence>> Engine::sequences_of(Request request, Ticket ticket,
                                                            Sink& sink) const {
  ensure(!edits_logits(request), ErrorKind::unsupported,
         "request: asks for changed logits, which the contract's program does not offer");
  auto sequences = make_sequences(contract_, std::move(request), ticket, sink);
  const std::int64_t pages = cache_.pages_for(sequences.front()->most_tokens);
  ensure(pages <= cache_.total_count(), ErrorKind::invalid,
         "request: needs {} pages of {} tokens, the cache has {}", pages,
         contract_.cache.page_tokens, cache_.total_count());
  return sequences;
}

void Engine::add(std::vector<std::unique_ptr<Sequence>> sequences) {
  for (auto& sequence : sequences) queue_.add(std::move(sequence));
}

void Engine::cancel(Ticket ticket) {
  const auto mark = [&](const std::unique_ptr<Sequence>& sequence) {
    if (sequence->of->ticket == ticket) sequence->is_cancelled = true;
  };
  std::ranges::for_each(queue_.all(), mark);
  std::ranges::for_each(running_, mark);
}

void Engine::drop_cancelled() {
  while (const auto sequence = queue_.take_cancelled()) finish(*sequence, FinishReason::cancelled);
  for (const auto& sequence : running_) {
    if (sequence->is_cancelled && !sequence->has_ended) finish(*sequence, FinishReason::cancelled);
  }
  remove_ended();
}

void Engine::remove_ended() {
  std::erase_if(running_, [](const auto& sequence) { return sequence->has_ended; });
}

/// Check, hold, check again: what a sequence holds of the cache cannot be evicted any more, so the
/// room is looked at when it holds it.
bool Engine::try_admit(Sequence& sequence) {
  const Request& request = sequence.of->request;
  HeldPages& held = sequence.held;
  PrefixTree::Match match;
  if (settings_.shares_prefixes && !request.prompt_log_probabilities) {
    const auto but_last = std::span(sequence.tokens).first(sequence.tokens.size() - 1);
    match = cache_.hold_match(request.cache_salt, but_last, held);
    if (match.partial_page >= 0) cache_.release_partial(match.partial_page);
  }
  const bool is_worst_case = settings_.reserve == Reserve::worst_case;
  const std::int64_t tokens = is_worst_case ? sequence.most_tokens : std::ssize(sequence.tokens);
  const std::int64_t need =
      std::max<std::int64_t>(cache_.pages_for(tokens) - std::ssize(held.pages), 0);
  const std::int64_t headroom = is_worst_case ? 0 : std::ssize(running_);  // a page for each
  if (need + headroom > cache_.available_count() || !cache_.promise(need, held)) {
    cache_.release(held);
    return false;
  }
  sequence.launched = sequence.consumed = sequence.confirmed = match.tokens;
  return true;
}

void Engine::start_running(Sequence& sequence, WaitingQueue::Clock::time_point now) {
  if (!sequence.was_admitted) {
    sequence.queue_seconds = Seconds(now - sequence.submitted).count();
    sequence.cached_tokens = sequence.consumed;
    counts_.prompt_tokens += sequence.prompt_tokens();
    counts_.cached_tokens += sequence.cached_tokens;
  }
  sequence.was_admitted = true;
  running_.push_back(queue_.take(&sequence));
}

/// Admits the first in turn that has room. One that has none lets a few others pass.
bool Engine::admit_one(WaitingQueue::Clock::time_point now) {
  Sequence* blocked = nullptr;
  for (Sequence* sequence : queue_.in_turn(now)) {
    if (try_admit(*sequence)) {
      if (blocked != nullptr) ++blocked->bypassed;
      start_running(*sequence, now);
      return true;
    }
    if (blocked == nullptr) blocked = sequence;
    if (blocked->bypassed >= kMostBypassed) return false;
  }
  return false;
}

void Engine::admit() {
  const auto now = Clock::now();
  while (std::ssize(running_) < most_rows_ && !queue_.all().empty() && admit_one(now)) {
  }
}

/// Gives a sequence's pages to others and queues it again. What it published stays cached.
void Engine::preempt(Sequence& sequence) {
  cache_.publish_all(sequence.of->request.cache_salt, sequence.tokens, sequence.confirmed,
                     sequence.held);
  cache_.release(sequence.held);
  sequence.launched = sequence.consumed = sequence.confirmed = 0;
  ++sequence.preemptions;
  ++counts_.preemptions;
  const auto at = std::ranges::find_if(
      running_, [&](const auto& running) { return running.get() == &sequence; });
  std::unique_ptr<Sequence> taken = std::move(*at);
  running_.erase(at);
  queue_.add(std::move(taken));
}

bool Engine::grow_parts() {
  return std::ranges::all_of(parts_, [&](const Part& part) {
    return cache_.grow(cache_.pages_for(part.sequence->launched + part.tokens),
                       part.sequence->held);
  });
}

/// Plans parts whose pages are there; others give way until they are.
bool Engine::make_room() {
  for (;;) {
    const auto decoding = std::ranges::count_if(
        running_, [](const auto& sequence) { return sequence->pending() == 1; });
    std::int64_t budget = budget_.tokens(decoding);
    if (settings_.step_tokens > 0) budget = std::min(budget, settings_.step_tokens);
    plan_parts(running_, stepper_.catalogue(), budget, parts_);
    if (parts_.empty()) return false;
    if (grow_parts()) return true;
    ensure(running_.size() > 1, ErrorKind::bug, "engine: one sequence does not fit the pages");
    const auto last = std::ranges::max_element(running_, {}, [](const auto& sequence) {
      return std::pair(sequence->of->request.priority - static_cast<int>(sequence->preemptions),
                       sequence->arrival);
    });
    preempt(**last);
  }
}

void Engine::launch_parts() {
  rows_.clear();
  queries_.clear();
  for (const Part& part : parts_) {
    Sequence& sequence = *part.sequence;
    const std::size_t first_query = queries_.size();
    const auto first = static_cast<std::size_t>(sequence.launched);
    for (std::int64_t i = 0; i < part.scored; ++i) {
      const std::int32_t next = sequence.tokens[first + static_cast<std::size_t>(i) + 1];
      queries_.push_back({.token = i, .target = next, .sampling = {}});
    }
    if (part.draws) queries_.push_back({.token = part.tokens - 1, .sampling = sequence.sampling});
    rows_.push_back(
        {.tokens = std::span(sequence.tokens).subspan(first, static_cast<std::size_t>(part.tokens)),
         .position = sequence.launched,
         .pages = sequence.held.pages,
         .queries = std::span(queries_).subspan(first_query)});
    sequence.launched += part.tokens;
  }
}

bool Engine::step() {
  const auto begin = Clock::now();
  drop_cancelled();
  clean_poisoned();
  admit();
  if (running_.empty() || !make_room()) return false;
  launch_parts();
  const auto launched = Clock::now();
  const std::span<const LogitAnswer> answers = stepper_.run(rows_);
  const auto ended = Clock::now();
  budget_.learn(stepper_.last_instance(), ended - launched);
  ++counts_.steps;
  counts_.step_rows += std::ssize(rows_);
  counts_.padded_rows +=
      stepper_.catalogue()[stepper_.last_instance()][ir::Symbol::rows] - std::ssize(rows_);
  commit(answers);
  counts_.step_seconds += Seconds(Clock::now() - begin).count();
  counts_.host_seconds += Seconds((launched - begin) + (Clock::now() - ended)).count();
  if (settings_.audit_every > 0 && counts_.steps % settings_.audit_every == 0) audit();
  return true;
}

void Engine::commit(std::span<const LogitAnswer> answers) {
  for (const Part& part : parts_) {
    const auto count = static_cast<std::size_t>(part.scored + (part.draws ? 1 : 0));
    commit_part(part, answers.first(count));
    answers = answers.subspan(count);
  }
  remove_ended();
}

void Engine::commit_part(const Part& part, std::span<const LogitAnswer> answers) {
  Sequence& sequence = *part.sequence;
  sequence.consumed += part.tokens;
  queue_.charge(sequence.of->request.fairness_key, static_cast<double>(part.tokens));
  const bool is_finite =
      std::ranges::all_of(answers, [](const auto& answer) { return answer.sampled >= 0; });
  if (!is_finite) return give_up(sequence);
  // Logits depend on all keys and values before them: only if they are finite, those are.
  if (!answers.empty()) sequence.confirmed = sequence.consumed;
  if (settings_.shares_prefixes) {
    cache_.publish(sequence.of->request.cache_salt, sequence.tokens, sequence.confirmed,
                   sequence.held);
  }
  if (sequence.consumed >= sequence.prompt_tokens()) sequence.of->prompt_is_ready = true;
  report_prompt(sequence, answers.first(static_cast<std::size_t>(part.scored)));
  if (part.draws) return take_draw(sequence, answers.back());
  const bool is_scored =
      sequence.of->request.max_tokens == 0 && sequence.consumed == sequence.prompt_tokens();
  if (is_scored) finish(sequence, FinishReason::length);
}

void Engine::report_prompt(Sequence& sequence, std::span<const LogitAnswer> answers) {
  for (const LogitAnswer& answer : answers) {
    const std::int32_t id = sequence.tokens[static_cast<std::size_t>(++sequence.reported)];
    sequence.of->sink->take(TokenEvent{.sequence = sequence.index,
                                       .token = {id, answer.target_log_probability},
                                       .in_prompt = true});
  }
}

void Engine::take_draw(Sequence& sequence, const LogitAnswer& answer) {
  const Request& request = sequence.of->request;
  ++counts_.drawn_tokens;
  if (is_stop_id(contract_, request, answer.sampled))
    return finish(sequence, FinishReason::stop, answer.sampled);
  sequence.tokens.push_back(answer.sampled);
  sequence.of->sink->take(TokenEvent{.sequence = sequence.index,
                                     .token = {answer.sampled, answer.sampled_log_probability}});
  if (sequence.filter && sequence.filter->accept(answer.sampled))
    return finish(sequence, FinishReason::stop);
  const bool is_full = sequence.consumed >= contract_.cache.context_tokens;
  if (is_full || sequence.drawn_tokens() >= request.max_tokens)
    finish(sequence, FinishReason::length);
}

/// Ends a sequence whose logits are not finite, and keeps its pages apart.
void Engine::give_up(Sequence& sequence) {
  ++counts_.numeric_failures;
  while (std::ssize(sequence.held.pages) > sequence.held.published) {
    poisoned_.pages.push_back(sequence.held.pages.back());
    sequence.held.pages.pop_back();
  }
  finish(sequence, FinishReason::numeric_failure);
}

/// A kernel may multiply slots of a page that its row does not hold by 0, so what is not finite
/// must not stay in a page that others take. States are cleared as a whole, when nobody uses them.
void Engine::clean_poisoned() {
  if (poisoned_.pages.empty() || !running_.empty()) return;
  for (const ir::Buffer& buffer : contract_.extend.buffers) {
    if (buffer.role == ir::Role::state) executor_.clear(buffer.name);
  }
  cache_.reset();
  cache_.release(poisoned_);
}

void Engine::finish(Sequence& sequence, FinishReason reason, std::int32_t stop_id) {
  sequence.has_ended = true;
  sequence.of->prompt_is_ready |= sequence.index == 0;
  const bool is_good = reason == FinishReason::stop || reason == FinishReason::length;
  if (is_good && settings_.shares_prefixes) {
    cache_.publish_all(sequence.of->request.cache_salt, sequence.tokens, sequence.confirmed,
                       sequence.held);
  }
  cache_.release(sequence.held);
  sequence.of->sink->take(FinishEvent{.sequence = sequence.index,
                                      .reason = reason,
                                      .stop_id = stop_id,
                                      .prompt_tokens = sequence.prompt_tokens(),
                                      .cached_tokens = sequence.cached_tokens,
                                      .drawn_tokens = sequence.drawn_tokens() + (stop_id >= 0),
                                      .queue_seconds = sequence.queue_seconds});
}

void Engine::end_all(FinishReason reason) {
  for (const auto& sequence : queue_.all()) sequence->is_cancelled = true;
  while (const auto sequence = queue_.take_cancelled()) finish(*sequence, reason);
  for (const auto& sequence : running_) finish(*sequence, reason);
  remove_ended();
}

void Engine::audit() const {
  std::int64_t own = 0;
  for (const auto& sequence : running_)
    own += std::ssize(sequence->held.pages) - sequence->held.published;
  own += std::ssize(poisoned_.pages);
  cache_.audit(own);
}

ServerCounts Engine::counts() const {
  ServerCounts result = counts_;
  result.running = std::ssize(running_);
  result.waiting = waiting_count();
  result.pages_total = cache_.total_count();
  result.pages_free = cache_.free_count();
  result.pages_cached = cache_.cached_count();
  result.evicted_pages = cache_.evicted_count();
  return result;
}

}  // namespace parhelion::serve
