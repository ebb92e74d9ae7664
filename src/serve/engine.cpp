#include "serve/engine.h"

#include "base/error.h"

#include <algorithm>
#include <chrono>
#include <cmath>

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
std::int64_t most_rows_of(const InstanceSet& instances) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : instances.catalogue) {
    most = std::max(most, std::min({instance[ir::Symbol::rows], instance[ir::Symbol::logit_rows],
                                    instance[ir::Symbol::tokens]}));
  }
  return most;
}

std::int64_t most_rows_of(const Stepper& stepper) {
  const std::int64_t plain = most_rows_of(stepper.instances(StepKind::plain));
  if (!stepper.can_edit()) return plain;
  return std::min(plain, most_rows_of(stepper.instances(StepKind::edited)));
}

std::int64_t most_queries_of(const Stepper& stepper) {
  std::int64_t most = 0;
  for (const StepKind kind : {StepKind::plain, StepKind::edited}) {
    for (const ir::Capacities& instance : stepper.instances(kind).catalogue)
      most = std::max(most, instance[ir::Symbol::logit_rows]);
  }
  return most;
}

bool is_stop_id(const contract::Contract& contract, const Request& request, std::int32_t id) {
  if (std::ranges::count(request.stop_ids, id) != 0) return true;
  return !request.ignore_stop_ids && std::ranges::count(contract.stop_ids, id) != 0;
}

TokenEvent event_of(const Sequence& sequence, const LogitAnswer& answer) {
  TokenEvent event{.sequence = sequence.index,
                   .token = {answer.sampled, answer.sampled_log_probability},
                   .top_count = sequence.of->request.top_tokens};
  for (std::size_t i = 0; i < static_cast<std::size_t>(event.top_count); ++i)
    event.top.at(i) = {answer.top_ids[i], answer.top_log_probabilities[i]};
  return event;
}

}  // namespace

Engine::Engine(contract::Contract contract, exec::Executor& executor,
               const EngineSettings& settings)
    : executor_(executor),
      contract_(std::move(contract)),
      settings_(settings),
      stepper_(contract_, executor, settings.weights, pages_of(contract_, settings.pages)),
      most_rows_(most_rows_of(stepper_)),
      cache_(pages_of(contract_, settings.pages), contract_.cache.page_tokens),
      queue_(settings.queue_sequences + most_rows_, settings.ageing),
      plain_budget_(stepper_.instances(StepKind::plain).catalogue, settings.step_target),
      edited_budget_(stepper_.instances(StepKind::edited).catalogue, settings.step_target) {
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
  for (auto* parts : {&parts_, &flying_parts_}) parts->reserve(rows);
  rows_.reserve(rows);
  copies_.reserve(rows + static_cast<std::size_t>(cache_.total_count()));
  queries_.reserve(static_cast<std::size_t>(most_queries_of(stepper_)));
}

std::vector<std::unique_ptr<Sequence>> Engine::sequences_of(Request request, Ticket ticket,
                                                            Sink& sink) const {
  auto sequences = make_sequences(contract_, std::move(request), ticket, sink);
  const Sequence& first = *sequences.front();
  const std::int64_t pages = cache_.pages_for(first.most_tokens);
  ensure(pages <= cache_.total_count(), ErrorKind::invalid,
         "request: needs {} pages of {} tokens, the cache has {}", pages,
         contract_.cache.page_tokens, cache_.total_count());
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

/// Lets go of sequences that have ended, when no step that is under way has them.
void Engine::remove_ended() {
  std::erase_if(running_, [&](const auto& sequence) {
    const bool is_done = sequence->has_ended && sequence->steps_in_flight == 0;
    if (is_done) free_slots_.push_back(sequence->slot);
    return is_done;
  });
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
  }
  const std::int64_t whole_pages = std::ssize(held.pages);
  const bool is_worst_case = settings_.reserve == Reserve::worst_case;
  const std::int64_t tokens = is_worst_case ? sequence.most_tokens : std::ssize(sequence.tokens);
  const std::int64_t need = std::max<std::int64_t>(cache_.pages_for(tokens) - whole_pages, 0);
  const std::int64_t headroom = is_worst_case ? 0 : std::ssize(running_);  // a page for each
  const auto fits = [&] { return need + headroom <= cache_.available_count(); };
  if (match.partial_page >= 0 && !fits()) {  // it may be the very page that is missing
    cache_.release_partial(match.partial_page);
    match.partial_page = -1;
  }
  if (!fits() || !cache_.promise(need, held)) {
    cache_.release(held);
    return false;
  }
  std::int64_t known = match.tokens;
  if (match.partial_page >= 0) {
    // Its beginning goes to a page of the sequence's own, which it then writes on.
    if (cache_.grow(whole_pages + 1, held)) {
      copies_.emplace_back(match.partial_page, held.pages.back());
      known += match.partial_tokens;
    }
    cache_.release_partial(match.partial_page);
  }
  sequence.launched = sequence.consumed = sequence.confirmed = known;
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
  sequence.slot = free_slots_.back();
  free_slots_.pop_back();
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
  free_slots_.push_back(taken->slot);
  running_.erase(at);
  queue_.add(std::move(taken));
}

bool Engine::grow_parts() {
  return std::ranges::all_of(parts_, [&](const Part& part) {
    return cache_.grow(cache_.pages_for(part.sequence->launched + part.tokens),
                       part.sequence->held);
  });
}

/// Takes the pages of the sequence that was admitted last among those of the lowest priority.
void Engine::give_way() {
  ensure(running_.size() > 1, ErrorKind::bug, "engine: one sequence does not fit the pages");
  const auto last = std::ranges::max_element(running_, {}, [](const auto& sequence) {
    return std::pair(sequence->of->request.priority - static_cast<int>(sequence->preemptions),
                     sequence->arrival);
  });
  preempt(**last);
}

/// Plans parts whose pages are there. False: nobody has anything to do.
bool Engine::plan_step() {
  for (;;) {
    const auto is_edited = [](const auto& sequence) {
      return !sequence->has_ended && sequence->edits != nullptr;
    };
    step_kind_ = std::ranges::any_of(running_, is_edited) ? StepKind::edited : StepKind::plain;
    const StepBudget& times = step_kind_ == StepKind::edited ? edited_budget_ : plain_budget_;
    const auto decoding = std::ranges::count_if(
        running_, [](const auto& sequence) { return sequence->pending() == 1; });
    std::int64_t budget = times.tokens(decoding);
    if (settings_.step_tokens > 0) budget = std::min(budget, settings_.step_tokens);
    plan_parts(running_, stepper_.instances(step_kind_), budget, parts_);
    if (parts_.empty()) return false;
    if (grow_parts()) return true;
    land();  // only what no step has under way can give way
    give_way();
  }
}

void Engine::make_rows() {
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
    part.edits = sequence.edits->view(sequence.mask.get(), sequence.drawn_tokens());
    if (part.edits == nullptr) finish(sequence, FinishReason::no_allowed_token);
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
  if (copies_.empty()) return;
  stepper_.copy_pages(copies_);
  copies_.clear();
}

void Engine::start_step() {
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
  StepBudget& times = stepper_.last_kind() == StepKind::edited ? edited_budget_ : plain_budget_;
  times.learn(stepper_.last_instance(), ended - step_began_);
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

void Engine::commit(std::span<const Part> parts, std::span<const LogitAnswer> answers) {
  for (const Part& part : parts) {
    const auto count = static_cast<std::size_t>(part.scored + (part.draws ? 1 : 0));
    commit_part(part, answers.first(count));
    answers = answers.subspan(count);
  }
}

void Engine::commit_part(const Part& part, std::span<const LogitAnswer> answers) {
  Sequence& sequence = *part.sequence;
  --sequence.steps_in_flight;
  sequence.unseen -= part.draws ? 1 : 0;
  sequence.consumed += part.tokens;
  queue_.charge(sequence.of->request.fairness_key, static_cast<double>(part.tokens));
  if (sequence.has_ended) {  // it went on before its end was known
    counts_.discarded_tokens += part.draws ? 1 : 0;
    return;
  }
  const bool is_finite = std::ranges::all_of(answers, [](const auto& answer) {
    return answer.sampled >= 0 && !std::isnan(answer.sampled_log_probability);
  });
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
  if (sequence.edits) sequence.edits->note_drawn(answer.sampled);
  if (sequence.mask) sequence.mask->accept(answer.sampled);
  sequence.of->sink->take(event_of(sequence, answer));
  if (sequence.filter && sequence.filter->accept(answer.sampled))
    return finish(sequence, FinishReason::stop);
  const bool is_full = sequence.consumed >= contract_.cache.context_tokens;
  if (is_full || sequence.drawn_tokens() >= request.max_tokens)
    finish(sequence, FinishReason::length);
}

/// Ends a sequence whose logits are not finite. A kernel may multiply slots of a page that its row
/// does not hold by 0, so its own pages get the content of the null page before others take them.
void Engine::give_up(Sequence& sequence) {
  ++counts_.numeric_failures;
  for (auto page = sequence.held.published; page < std::ssize(sequence.held.pages); ++page)
    copies_.emplace_back(0, sequence.held.pages[static_cast<std::size_t>(page)]);
  finish(sequence, FinishReason::numeric_failure);
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
  for (const auto& sequence : running_)
    if (!sequence->has_ended) finish(*sequence, reason);
}

void Engine::audit() const {
  std::int64_t own = 0;
  for (const auto& sequence : running_)
    own += std::ssize(sequence->held.pages) - sequence->held.published;
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
