#include "app/http/event_sink.h"

#include <algorithm>

namespace parhelion::app {

EventSink::EventSink(std::int64_t sequences, std::int64_t tokens, std::int64_t top_tokens,
                     std::shared_ptr<Bell> bell)
    : slots_(static_cast<std::size_t>(std::max<std::int64_t>(1, tokens))),
      top_(slots_.size() * static_cast<std::size_t>(top_tokens)),
      top_tokens_(static_cast<std::size_t>(top_tokens)),
      finishes_(static_cast<std::size_t>(sequences)),
      bell_(std::move(bell)) {}

void EventSink::take(const serve::TokenEvent& event) {
  const std::int64_t tail = tail_;
  if (tail - head_ == static_cast<std::int64_t>(slots_.size())) {
    has_overflowed_ = true;
    return bell_->ring();
  }
  const std::size_t at = slot(tail);
  const std::size_t count = std::min(top_tokens_, static_cast<std::size_t>(event.top_count));
  slots_[at] = {.id = event.token.id,
                .log_probability = event.token.log_probability,
                .sequence = static_cast<std::int16_t>(event.sequence),
                .top_count = static_cast<std::int16_t>(count),
                .in_prompt = event.in_prompt};
  std::copy_n(event.top.begin(), count,
              top_.begin() + static_cast<std::ptrdiff_t>(at * top_tokens_));
  tail_ = tail + 1;
  bell_->ring();
}

void EventSink::take(const serve::FinishEvent& event) {
  const std::int64_t index = finished_;
  finishes_[static_cast<std::size_t>(index)] = event;
  const bool is_last = index + 1 == static_cast<std::int64_t>(finishes_.size());
  finished_ = index + 1;
  bell_->ring();
  if (is_last) is_released_ = true;  // the sink may be gone from here on
}

bool EventSink::next(serve::TokenEvent& event) {
  const std::int64_t head = head_;
  if (head == tail_) return false;
  const std::size_t at = slot(head);
  const Slot& found = slots_[at];
  event.sequence = found.sequence;
  event.token = {.id = found.id, .log_probability = found.log_probability};
  event.in_prompt = found.in_prompt;
  event.top_count = found.top_count;
  std::copy_n(top_.begin() + static_cast<std::ptrdiff_t>(at * top_tokens_), found.top_count,
              event.top.begin());
  head_ = head + 1;
  return true;
}

}  // namespace parhelion::app
