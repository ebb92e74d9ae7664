#include "serve/engine.h"

#include "base/error.h"
#include "serve/port_call.h"

#include <algorithm>
#include <chrono>

namespace parhelion::serve {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::int64_t pages_of(const contract::Contract& contract, std::int64_t asked) {
  const contract::CachePolicy& cache = contract.cache;
  const std::int64_t one = (cache.context_tokens + cache.page_tokens - 1) / cache.page_tokens;
  return asked == 0 ? one + 1 : asked;
}

/// Sequences that can decode in one step.
std::int64_t most_rows_of(const InstanceSet& instances) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : instances.catalogue) {
    most = std::max(most, std::min({instance[ir::Symbol::rows], instance[ir::Symbol::logit_rows],
                                    instance[ir::Symbol::tokens]}));
  }
  return most;
}

std::int64_t most_rows_of(const Stepper& stepper, const contract::Limits& limits) {
  std::int64_t most = most_rows_of(stepper.instances(StepKind::plain));
  if (stepper.can_edit()) most = std::min(most, most_rows_of(stepper.instances(StepKind::edited)));
  return limits.rows == 0 ? most : std::min(most, limits.rows);
}

}  // namespace

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::load:
      return "load";
    case Phase::warm:
      return "warm";
    case Phase::serve:
      return "serve";
    case Phase::drain:
      return "drain";
    case Phase::stopped:
      return "stopped";
  }
  fail(ErrorKind::bug, "phase {}: has no name", static_cast<int>(phase));
}

Engine::Engine(contract::Contract contract, exec::Executor& executor,
               const EngineSettings& settings)
    : contract_(std::move(contract)),
      settings_(settings),
      stepper_(contract_, executor, settings.weights, pages_of(contract_, settings.pages)),
      most_rows_(most_rows_of(stepper_, contract_.limits)),
      cache_(pages_of(contract_, settings.pages), contract_.cache.page_tokens),
      queue_(settings.queue_sequences + most_rows_, settings.ageing),
      plain_budget_(stepper_.instances(StepKind::plain).catalogue, settings.step_target),
      edited_budget_(stepper_.instances(StepKind::edited).catalogue, settings.step_target),
      embed_budget_(stepper_.instances(StepKind::embed).catalogue, settings.step_target),
      // At most once a page when sequences are cancelled and once when others give way.
      copies_(cache_.total_count() + 1, 2 * cache_.total_count() + most_rows_) {
  // Weights that change would make what is cached out of date.
  if (settings_.weights == exec::Weights::trained) settings_.shares_prefixes = false;
  ensure(stepper_.can_copy_pages(), ErrorKind::invalid,
         "engine: the contract has no program that copies pages, expected one");
  ensure(!settings_.overlaps || stepper_.slot_count() >= most_rows_, ErrorKind::invalid,
         "engine: overlapping steps of {} rows need as many slots, the contract has {}", most_rows_,
         stepper_.slot_count());
  const auto rows = static_cast<std::size_t>(most_rows_);
  for (std::int32_t slot = 0; slot < most_rows_; ++slot) free_slots_.push_back(slot);
  running_.reserve(rows);
  turn_order_.reserve(rows);
  for (auto* parts : {&parts_, &flying_parts_}) parts->reserve(rows);
  rows_.reserve(rows);
  queries_.reserve(
      static_cast<std::size_t>(std::max({most_queries(stepper_.instances(StepKind::plain)),
                                         most_queries(stepper_.instances(StepKind::edited)),
                                         most_queries(stepper_.instances(StepKind::embed))})));
}

StepBudget& Engine::budget_of(StepKind kind) {
  if (kind == StepKind::embed) return embed_budget_;
  return kind == StepKind::edited ? edited_budget_ : plain_budget_;
}

std::vector<std::unique_ptr<Sequence>> Engine::sequences_of(Request request, Ticket ticket,
                                                            Sink& sink) const {
  auto sequences = make_sequences(contract_, std::move(request), ticket, sink);
  const Sequence& first = *sequences.front();
  const std::int64_t pages = cache_.pages_for(first.most_tokens);
  ensure(pages <= cache_.total_count(), ErrorKind::invalid,
         "request: needs {} pages of {} tokens, the cache has {}", pages,
         contract_.cache.page_tokens, cache_.total_count());
  ensure(!first.embeds() || stepper_.can_embed(), ErrorKind::unsupported,
         "request: asks for a vector, which the contract has no program for");
  if (!first.edits) return sequences;
  ensure(stepper_.can_edit(), ErrorKind::unsupported,
         "request: asks for changed logits or top tokens, which the contract has no program for");
  const std::int64_t room = std::ranges::max(stepper_.instances(StepKind::edited).edits);
  ensure(first.edits->most_ids() <= room, ErrorKind::unsupported,
         "request: penalties and biases may name {} ids, a step has room for {}",
         first.edits->most_ids(), room);
  return sequences;
}

void Engine::add(std::vector<std::unique_ptr<Sequence>> sequences) {
  ensure(phase_ <= Phase::serve, ErrorKind::peer, "engine: is in phase {}, takes no more requests",
         name(phase_));
  for (auto& sequence : sequences) queue_.add(std::move(sequence));
  may_admit_ = true;
}

void Engine::cancel(Ticket ticket) {
  const auto mark = [&](const std::unique_ptr<Sequence>& sequence) {
    if (sequence->of->ticket == ticket) sequence->is_cancelled = true;
  };
  std::ranges::for_each(queue_.all(), mark);
  std::ranges::for_each(running_, mark);
}

void Engine::drain() {
  ensure(phase_ <= Phase::drain, ErrorKind::peer, "engine: has stopped");
  phase_ = Phase::drain;
}

void Engine::make_rows() {
  rows_.clear();
  queries_.clear();
  for (const Part& part : parts_) {
    Sequence& sequence = *part.sequence;
    const std::size_t first_query = queries_.size();
    const auto first = static_cast<std::size_t>(sequence.launched);
    for (std::int64_t i = part.first_scored; i < part.first_scored + part.scored; ++i) {
      const std::int32_t next = sequence.tokens[first + static_cast<std::size_t>(i) + 1];
      queries_.push_back({.token = i, .target = next, .sampling = {}});
    }
    if (part.draws) {
      queries_.push_back({.token = part.tokens - 1,
                          .sampling = sequence.sampling,
                          .draw_slot = sequence.slot,
                          .edits = part.edits});
    }
    const bool is_unseen = sequence.next_is_unseen();
    static constexpr std::int32_t kUnseen = 0;
    rows_.push_back({.tokens = is_unseen
                                   ? std::span(&kUnseen, 1)
                                   : std::span<const std::int32_t>(sequence.tokens)
                                         .subspan(first, static_cast<std::size_t>(part.tokens)),
                     .position = sequence.launched,
                     .pages = sequence.held.pages,
                     .queries = std::span(queries_).subspan(first_query),
                     .source_slot = is_unseen ? sequence.slot : -1});
  }
}

/// Asks masks and penalties of the sequences that draw. Those that may draw nothing end.
void Engine::ask_edits() {
  std::erase_if(parts_, [&](Part& part) {
    Sequence& sequence = *part.sequence;
    if (!part.draws || !sequence.edits) return false;
    const bool is_sound = port_succeeds(
        [&] { part.edits = sequence.edits->view(sequence.mask.get(), sequence.drawn_tokens()); });
    if (!is_sound) part.edits = nullptr;
    if (part.edits == nullptr)
      finish(sequence, is_sound ? FinishReason::no_allowed_token : FinishReason::rules_failed);
    return part.edits == nullptr;
  });
}

/// Whether the host must see what the step under way draws before it can plan the next.
bool Engine::needs_results() const {
  if (!settings_.overlaps) return true;
  return std::ranges::any_of(running_, [](const auto& sequence) {
    return !sequence->has_ended && sequence->edits != nullptr;
  });
}

/// Starts copies of pages; the step that starts next sees them.
void Engine::copy_pages() {
  for (std::int64_t i = 0; i < copies_.batch_count(); ++i) stepper_.copy_pages(copies_.batch(i));
  copies_.clear();
}

void Engine::start_step() {
  if (phase_ == Phase::load) phase_ = Phase::serve;
  const auto begin = Clock::now();
  copy_pages();
  stepper_.start();
  step_began_ = begin;
  device_time_ += Clock::now() - begin;
  ++counts_.steps;
  counts_.step_rows += std::ssize(rows_);
  const InstanceSet& instances = stepper_.instances(stepper_.last_kind());
  counts_.padded_rows +=
      instances.catalogue[stepper_.last_instance()][ir::Symbol::rows] - std::ssize(rows_);
  for (const Part& part : parts_) {
    Sequence& sequence = *part.sequence;
    sequence.launched += part.tokens;
    sequence.unseen += part.draws ? 1 : 0;
    ++sequence.steps_in_flight;
  }
  std::swap(parts_, flying_parts_);
}

/// The answers of the step under way.
std::span<const LogitAnswer> Engine::wait_for_step() {
  const auto begin = Clock::now();
  const std::span<const LogitAnswer> answers = stepper_.finish();
  const auto ended = Clock::now();
  device_time_ += ended - begin;
  budget_of(stepper_.last_kind()).learn(stepper_.last_instance(), ended - step_began_);
  return answers;
}

/// Ends the step under way, if there is one, and commits its results.
void Engine::land() {
  if (flying_parts_.empty()) return;
  const std::span<const LogitAnswer> answers = wait_for_step();
  commit(flying_parts_, answers);
  flying_parts_.clear();
  remove_ended();
}

bool Engine::step() {
  const auto begin = Clock::now();
  device_time_ = Seconds(0);
  drop_cancelled();
  admit();
  const bool was_flying = !flying_parts_.empty();
  const bool has_parts = plan_step();
  if (has_parts) ask_edits();
  if (parts_.empty()) {
    land();
    copy_pages();
    remove_ended();
    return was_flying || has_parts;
  }
  make_rows();
  stepper_.prepare(rows_, step_kind_);
  if (flying_parts_.empty()) {
    start_step();
  } else {
    const std::span<const LogitAnswer> answers = wait_for_step();
    const auto ended = Clock::now();
    start_step();
    counts_.gap_seconds += Seconds(Clock::now() - ended).count();
    commit(parts_, answers);
  }
  parts_.clear();
  if (needs_results()) land();
  remove_ended();
  const Seconds time = Clock::now() - begin;
  counts_.step_seconds += time.count();
  counts_.host_seconds += (time - device_time_).count();
  if (settings_.audit_every > 0 && counts_.steps % settings_.audit_every == 0) audit();
  return true;
}

void Engine::audit() const {
  std::int64_t own = 0;
  for (const auto& sequence : running_)
    own += std::ssize(sequence->held.pages) - sequence->held.published;
  cache_.audit(own);
}

void Engine::forget() {
  reset_cache();
  counts_ = {};
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
