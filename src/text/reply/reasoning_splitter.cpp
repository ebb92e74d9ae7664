#include "text/reply/reasoning_splitter.h"

#include "text/reply/marker_search.h"

#include <algorithm>
#include <utility>

namespace parhelion::text {
namespace {

constexpr std::string_view kReplySpace = " \t\r\n";

}  // namespace

ReasoningSplitter::ReasoningSplitter(ReasoningFormat format, ReasoningStart start)
    : format_(std::move(format)) {
  if (start == ReasoningStart::closed) return;
  state_ = State::reasoning;
  drops_space_ = format_.trims;
}

void ReasoningSplitter::push(std::string_view piece, ReplyEvents& events) {
  held_ += piece;
  while (step(TextEnd::open, events)) {
  }
}

void ReasoningSplitter::finish(ReplyEvents& events) {
  while (step(TextEnd::final, events)) {
  }
}

/// Decides more of what is held; says whether there is more to decide.
bool ReasoningSplitter::step(TextEnd end, ReplyEvents& events) {
  if (drops_space_) drop_space();
  if (held_.empty()) return false;
  if (state_ == State::start) return step_start(end);
  if (state_ == State::reasoning) return step_marker(format_.close, State::answer, end, events);
  if (format_.reopens) return step_marker(format_.open, State::reasoning, end, events);
  release(held_.size(), events);
  return false;
}

void ReasoningSplitter::drop_space() {
  held_.erase(0, std::min(held_.find_first_not_of(kReplySpace), held_.size()));
  if (!held_.empty()) drops_space_ = false;
}

/// White space may stand before the opening marker of a reply.
bool ReasoningSplitter::step_start(TextEnd end) {
  const std::size_t first = std::min(held_.find_first_not_of(kReplySpace), held_.size());
  const std::string_view rest = std::string_view(held_).substr(first);
  if (!rest.starts_with(format_.open)) {
    const bool may_become = end == TextEnd::open && format_.open.starts_with(rest);
    if (may_become) return false;
    state_ = State::answer;
    return true;
  }
  held_.erase(0, first + format_.open.size());
  state_ = State::reasoning;
  drops_space_ = format_.trims;
  return true;
}

bool ReasoningSplitter::step_marker(const std::string& marker, State next, TextEnd end,
                                    ReplyEvents& events) {
  const MarkerMatch match = find_marker(held_, std::span(&marker, 1), end);
  // White space is held back too: it is dropped if the closing marker follows.
  const bool holds_space =
      format_.trims && state_ == State::reasoning && (match.is_whole || end == TextEnd::open);
  std::size_t ready = match.at;
  if (holds_space) {
    const std::size_t last =
        std::string_view(held_).substr(0, match.at).find_last_not_of(kReplySpace);
    ready = last == std::string_view::npos ? 0 : last + 1;
  }
  const std::size_t consumed = match.is_whole ? match.at + marker.size() - ready : 0;
  release(ready, events);
  if (!match.is_whole) return false;
  held_.erase(0, consumed);
  state_ = next;
  drops_space_ = format_.trims;
  return true;
}

void ReasoningSplitter::release(std::size_t bytes, ReplyEvents& events) {
  const ReplyPart part = state_ == State::reasoning ? ReplyPart::reasoning : ReplyPart::text;
  add_text(events, part, held_.substr(0, bytes));
  held_.erase(0, bytes);
}

}  // namespace parhelion::text
