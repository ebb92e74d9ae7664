#include "serve/waiting_queue.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace parhelion::serve {

WaitingQueue::WaitingQueue(std::int64_t capacity, std::chrono::duration<double> ageing)
    : ageing_(ageing) {
  waiting_.reserve(static_cast<std::size_t>(capacity));
  order_.reserve(static_cast<std::size_t>(capacity));
}

void WaitingQueue::add(std::unique_ptr<Sequence> sequence) {
  const std::uint64_t key = sequence->of->request.fairness_key;
  const bool is_new_key = std::ranges::none_of(
      waiting_, [&](const auto& other) { return other->of->request.fairness_key == key; });
  virtual_time_ = std::max(virtual_time_, served(last_key_));
  if (is_new_key)  // an idle key saves no turns, and one that ran alone owes none
    served(key) = std::max(served(key), virtual_time_);
  if (sequence->arrival == 0) sequence->arrival = ++arrivals_;
  waiting_.push_back(std::move(sequence));
}

double WaitingQueue::class_of(const Sequence& sequence, Clock::time_point now) const {
  const std::chrono::duration<double> waited = now - sequence.submitted;
  return sequence.of->request.priority - std::floor(waited / ageing_) -
         static_cast<double>(sequence.preemptions);
}

std::span<Sequence* const> WaitingQueue::in_turn(Clock::time_point now) {
  order_.clear();
  for (const auto& sequence : waiting_) {
    if (sequence->index == 0 || sequence->of->prompt_is_ready) order_.push_back(sequence.get());
  }
  const auto turn = [&](const Sequence* sequence) {
    return std::tuple(class_of(*sequence, now), served(sequence->of->request.fairness_key),
                      sequence->arrival);
  };
  std::ranges::sort(order_, [&](const auto* a, const auto* b) { return turn(a) < turn(b); });
  return order_;
}

std::unique_ptr<Sequence> WaitingQueue::take(const Sequence* sequence) {
  const auto at = std::ranges::find_if(
      waiting_, [&](const auto& waiting) { return waiting.get() == sequence; });
  if (at == waiting_.end()) return nullptr;
  std::unique_ptr<Sequence> taken = std::move(*at);
  waiting_.erase(at);
  return taken;
}

std::unique_ptr<Sequence> WaitingQueue::admit(const Sequence* sequence) {
  std::unique_ptr<Sequence> taken = take(sequence);
  if (taken) last_key_ = taken->of->request.fairness_key;
  return taken;
}

std::unique_ptr<Sequence> WaitingQueue::take_cancelled() {
  const auto at =
      std::ranges::find_if(waiting_, [](const auto& sequence) { return sequence->is_cancelled; });
  return at == waiting_.end() ? nullptr : take(at->get());
}

void WaitingQueue::charge(std::uint64_t fairness_key, double cost) { served(fairness_key) += cost; }

}  // namespace parhelion::serve
