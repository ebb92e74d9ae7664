#pragma once

#include "text/reply/reply_event.h"

#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

/// Events as one text: "text", "(reasoning)", and for a call "[0 name|arguments]" or, if it broke
/// off, "[0 name|arguments".
inline std::string describe(const ReplyEvents& events) {
  std::string out;
  for (const ReplyEvent& event : events) {
    switch (event.part) {
      case ReplyPart::text:
        out += event.text;
        break;
      case ReplyPart::reasoning:
        out += "(" + event.text + ")";
        break;
      case ReplyPart::call:
        out += "[" + std::to_string(event.call) + " " + event.text + "|";
        break;
      case ReplyPart::arguments:
        out += event.text;
        break;
      case ReplyPart::call_end:
        out += "]";
        break;
    }
  }
  return out;
}

/// The events with those joined that are more of the same text, as a client sees them in the end.
inline ReplyEvents joined_events(const ReplyEvents& events) {
  ReplyEvents joined;
  for (const ReplyEvent& event : events) {
    if (event.part == ReplyPart::call || event.part == ReplyPart::call_end) {
      joined.push_back(event);
    } else {
      add_text(joined, event.part, event.text, event.call);
    }
  }
  return joined;
}

/// What a reader (of copies made by `make`) tells of the pieces.
template <class Make>
ReplyEvents read_pieces(const Make& make, const std::vector<std::string_view>& pieces) {
  auto reader = make();
  ReplyEvents events;
  for (const std::string_view piece : pieces) {
    ReplyEvents more;
    reader.push(piece, more);
    events.insert(events.end(), more.begin(), more.end());
  }
  ReplyEvents rest;
  reader.finish(rest);
  events.insert(events.end(), rest.begin(), rest.end());
  return joined_events(events);
}

/// The ways to cut a text: each byte alone, and in two and in three at every place.
inline std::vector<std::vector<std::string_view>> all_cuts(std::string_view text) {
  std::vector<std::vector<std::string_view>> cuts(1);
  for (std::size_t i = 0; i < text.size(); ++i) cuts[0].push_back(text.substr(i, 1));
  for (std::size_t a = 0; a <= text.size(); ++a) {
    const std::size_t step = text.size() > 120 ? 7 : 1;  // a long text at every seventh place
    for (std::size_t b = a; b <= text.size(); b += step) {
      cuts.push_back({text.substr(0, a), text.substr(a, b - a), text.substr(b)});
    }
  }
  return cuts;
}

}  // namespace parhelion::text
