// A reply, cut anywhere, gives the same events as whole, and loses no text where there is no call.
// The first byte picks the format, the second how the reply is cut; the rest is the reply.
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "text/reply/reasoning_splitter.h"
#include "text/reply/tool_call_parser.h"
#include "text/stop_filter.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using parhelion::ensure;
using parhelion::ErrorKind;
using parhelion::Json;
using namespace parhelion::text;

Json fuzz_tools() {
  return parhelion::parse_json(
      R"([{"name":"f","parameters":{"properties":{"s":{"type":"string"},"b":{"type":"boolean"}}}}])",
      "tools");
}

/// Pieces of 1 to 8 bytes, as `seed` says.
std::vector<std::string_view> cut_reply(std::string_view text, std::uint32_t seed) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = std::min<std::size_t>(text.size(), 1 + (seed >> 16) % 8);
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

template <class Reader>
ReplyEvents read_all(Reader reader, const std::vector<std::string_view>& pieces) {
  ReplyEvents joined;
  const auto take = [&](const ReplyEvents& events) {
    for (const ReplyEvent& event : events) {
      const bool is_mark = event.part == ReplyPart::call || event.part == ReplyPart::call_end;
      if (is_mark) joined.push_back(event);
      if (!is_mark) add_text(joined, event.part, event.text, event.call);
    }
  };
  for (const std::string_view piece : pieces) {
    ReplyEvents events;
    reader.push(piece, events);
    take(events);
  }
  ReplyEvents rest;
  reader.finish(rest);
  take(rest);
  return joined;
}

std::string read_to_stop(StopFilter filter, const std::vector<std::string_view>& pieces) {
  std::string shown;
  for (const std::string_view piece : pieces) shown += filter.push(piece);
  return shown + filter.flush();
}

void check_calls(const ToolFormat& format, std::string_view text,
                 const std::vector<std::string_view>& pieces) {
  const ReplyEvents whole = read_all(ToolCallParser(format, fuzz_tools()), {text});
  const ReplyEvents cut = read_all(ToolCallParser(format, fuzz_tools()), pieces);
  ensure(whole == cut, ErrorKind::bug, "tool calls depend on the cuts");
  const bool has_call = std::any_of(whole.begin(), whole.end(), [](const ReplyEvent& event) {
    return event.part == ReplyPart::call;
  });
  const bool may_drop = has_call || !format.dropped.empty() ||
                        format.kind == ToolCallKind::json_list;  // an empty list is no call
  if (may_drop) return;
  const std::string shown = whole.empty() ? "" : whole.front().text;
  ensure(whole.size() <= 1 && shown == text, ErrorKind::bug, "text is lost or changed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto pieces = cut_reply(text, data[1]);
  const auto tool_names = tool_format_names();
  check_calls(tool_format(tool_names[data[0] % tool_names.size()]), text, pieces);
  const auto reasoning_names = reasoning_format_names();
  const ReasoningFormat reasoning =
      reasoning_format(reasoning_names[data[0] % reasoning_names.size()]);
  const auto start = data[1] % 2 == 0 ? ReasoningStart::closed : ReasoningStart::opened;
  ensure(read_all(ReasoningSplitter(reasoning, start), {text}) ==
             read_all(ReasoningSplitter(reasoning, start), pieces),
         ErrorKind::bug, "reasoning depends on the cuts");
  const StopFilter filter({"aba", "</think>", "\n\n"});
  ensure(read_to_stop(filter, {text}) == read_to_stop(filter, pieces), ErrorKind::bug,
         "stop strings depend on the cuts");
  return 0;
}
