#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace parhelion::text {

enum class ReplyPart : std::uint8_t {
  text,       ///< more of the answer
  reasoning,  ///< more of what the model thinks
  call,       ///< a tool call begins; the text is its function's name
  arguments,  ///< more of its arguments, which are JSON
  call_end,   ///< the arguments are whole
};

/// What a part of a reply tells.
struct ReplyEvent {
  ReplyPart part = ReplyPart::text;
  std::string text = {};
  std::int64_t call = 0;  ///< the number of the call, from 0

  bool operator==(const ReplyEvent&) const = default;
};

using ReplyEvents = std::vector<ReplyEvent>;

/// Appends an event, joined to the last one if it is more of the same text. Empty text is none.
inline void add_text(ReplyEvents& events, ReplyPart part, std::string text, std::int64_t call = 0) {
  if (text.empty()) return;
  const bool continues =
      !events.empty() && events.back().part == part && events.back().call == call;
  if (continues) {
    events.back().text += text;
  } else {
    events.push_back({part, std::move(text), call});
  }
}

}  // namespace parhelion::text
