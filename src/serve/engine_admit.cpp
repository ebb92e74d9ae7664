// Who runs, and in which pages.
#include "base/error.h"
#include "serve/engine.h"

#include <algorithm>
#include <utility>

namespace parhelion::serve {
namespace {

/// How often others may be admitted before a sequence that does not fit.
constexpr std::int64_t kMostBypassed = 8;
/// After so many steps the queue is looked at again though no room was made: who is first changes
/// as sequences wait.
constexpr std::int64_t kMostStepsWithoutAdmission = 16;

}  // namespace

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
    may_admit_ |= is_done;
    return is_done;
  });
}

/// Check, hold, check again: what a sequence holds of the cache cannot be evicted any more, so the
/// room is looked at when it holds it.
bool Engine::try_admit(Sequence& sequence) {
  const Request& request = sequence.of->request;
  HeldPages& held = sequence.held;
  PrefixTree::Match match;
  if (settings_.shares_prefixes && !request.prompt_log_probabilities && !request.embeds) {
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
      copies_.add(match.partial_page, held.pages.back());
      known += match.partial_tokens;
    }
    cache_.release_partial(match.partial_page);
  }
  sequence.launched = sequence.consumed = sequence.confirmed = known;
  return true;
}

void Engine::start_running(Sequence& sequence, WaitingQueue::Clock::time_point now) {
  if (!sequence.was_admitted) {
    sequence.queue_seconds = std::chrono::duration<double>(now - sequence.submitted).count();
    sequence.cached_tokens = sequence.consumed;
    counts_.prompt_tokens += sequence.prompt_tokens();
    counts_.cached_tokens += sequence.cached_tokens;
  }
  sequence.was_admitted = true;
  sequence.slot = free_slots_.back();
  free_slots_.pop_back();
  running_.push_back(queue_.admit(&sequence));
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

/// While the first in turn have no room, the queue is not looked at before some may have been made.
void Engine::admit() {
  if (std::ssize(running_) >= most_rows_ || queue_.all().empty()) return;
  const bool looks =
      may_admit_ || running_.empty() || ++steps_without_admission_ >= kMostStepsWithoutAdmission;
  if (!looks) return;
  steps_without_admission_ = 0;
  const auto now = WaitingQueue::Clock::now();
  do {
    may_admit_ = admit_one(now);
  } while (may_admit_ && std::ssize(running_) < most_rows_ && !queue_.all().empty());
}

/// Gives a sequence's pages to others and queues it again. What it published stays cached.
void Engine::preempt(Sequence& sequence) {
  publish_known(sequence);
  release_pages(sequence);
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

/// Where some draw and some embed, their steps take turns.
StepKind Engine::next_kind() const {
  bool draws = false;
  bool edits = false;
  bool embeds = false;
  for (const auto& sequence : running_) {
    if (sequence->has_ended) continue;
    draws |= !sequence->embeds();
    edits |= sequence->edits != nullptr;
    embeds |= sequence->embeds() && sequence->pending() > sequence->unseen;
  }
  if (embeds && (!draws || step_kind_ != StepKind::embed)) return StepKind::embed;
  return edits ? StepKind::edited : StepKind::plain;
}

/// Those that run, in the order in which they would be admitted now.
std::span<Sequence* const> Engine::running_in_turn() {
  const auto now = WaitingQueue::Clock::now();
  turn_order_.clear();
  for (const auto& sequence : running_) turn_order_.push_back(sequence.get());
  std::ranges::sort(turn_order_, {}, [&](const Sequence* sequence) {
    return std::pair(queue_.class_of(*sequence, now), sequence->arrival);
  });
  return turn_order_;
}

/// Plans parts whose pages are there. False: nobody has anything to do.
bool Engine::plan_step() {
  for (;;) {
    step_kind_ = next_kind();
    const auto decoding = std::ranges::count_if(
        running_, [](const auto& sequence) { return sequence->pending() == 1; });
    std::int64_t budget = budget_of(step_kind_).tokens(decoding);
    if (settings_.step_tokens > 0) budget = std::min(budget, settings_.step_tokens);
    const Turns next = plan_parts(running_in_turn(), step_kind_, stepper_.instances(step_kind_),
                                  budget, turns_, parts_);
    if (parts_.empty()) return false;
    if (grow_parts()) {
      turns_ = next;
      return true;
    }
    const bool was_flying = !flying_parts_.empty();
    land();  // only what no step has under way can give way
    if (!was_flying) give_way();
  }
}

}  // namespace parhelion::serve
