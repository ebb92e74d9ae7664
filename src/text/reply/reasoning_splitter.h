#pragma once

#include "text/reply/marker_search.h"
#include "text/reply/reply_event.h"
#include "text/reply/reply_format.h"

#include <string>
#include <string_view>

namespace parhelion::text {

/// Whether the prompt has opened the reasoning with which a reply begins.
enum class ReasoningStart : std::uint8_t { closed, opened };

/// Tells reasoning from answer in a reply that comes in pieces cut anywhere. Markers are in
/// neither. Reasoning that is not closed goes on to the end; a closing marker in the answer is
/// text.
class ReasoningSplitter {
 public:
  ReasoningSplitter(ReasoningFormat format, ReasoningStart start);

  /// Appends what is decided of the reply so far, as text and reasoning.
  void push(std::string_view piece, ReplyEvents& events);
  /// Appends what was held back, at the end of the reply.
  void finish(ReplyEvents& events);

  bool is_in_reasoning() const { return state_ == State::reasoning; }

 private:
  enum class State : std::uint8_t { start, reasoning, answer };

  bool step(TextEnd end, ReplyEvents& events);
  bool step_start(TextEnd end);
  bool step_marker(const std::string& marker, State next, TextEnd end, ReplyEvents& events);
  void release(std::size_t bytes, ReplyEvents& events);
  void drop_space();

  ReasoningFormat format_;
  State state_ = State::start;
  bool drops_space_ = false;  // behind a marker
  std::string held_;          // not decided yet
};

}  // namespace parhelion::text
