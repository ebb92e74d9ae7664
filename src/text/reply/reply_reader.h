#pragma once

#include "base/json.h"
#include "text/detokenizer.h"
#include "text/reply/marker_codes.h"
#include "text/reply/reasoning_splitter.h"
#include "text/reply/reply_event.h"
#include "text/reply/reply_format.h"
#include "text/reply/tool_call_parser.h"
#include "text/stop_filter.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::text {

/// Where stop strings end a reply.
enum class StopScope : std::uint8_t { answer, everywhere };

/// How a reply is read.
struct ReplyOptions {
  ReplyFormat format = {};
  ReasoningStart reasoning_start = ReasoningStart::closed;
  Json tools = {};  ///< the list of the request, for the types of arguments
  std::vector<std::string> stops = {};
  StopText stop_text = StopText::hidden;
  StopScope stop_scope = StopScope::answer;  ///< tool calls are part of the answer
  SpecialTokens special_tokens = SpecialTokens::skip;
};

/// Turns the tokens of one reply into what it says: reasoning, text, tool calls. Markers that are
/// tokens count by their id, the same text made of other tokens is text; other markers count as
/// text. Whatever the tokens are cut into, the events joined are the same.
class ReplyReader {
 public:
  /// Errors: invalid if a stop string is empty.
  ReplyReader(const Tokenizer& tokenizer, ReplyOptions options);

  /// Appends what is decided with this token; nothing once a stop string has come.
  void push(TokenId id, ReplyEvents& events);
  /// Appends what was held back, at the end of the reply.
  void finish(ReplyEvents& events);

  /// The stop string that has come.
  std::optional<std::string> stop() const;
  bool is_in_reasoning() const;
  std::int64_t call_count() const;
  std::int64_t malformed_count() const;

 private:
  void take(std::string_view piece, ReplyEvents& events);
  void pass(const ReplyEvents& parts, ReplyEvents& events);
  void pass_answer(const std::string& text, ReplyEvents& events);
  void tell(const ReplyEvents& coded, ReplyEvents& events) const;

  MarkerCodes codes_;
  Detokenizer detokenizer_;
  std::optional<ReasoningSplitter> splitter_;
  StopFilter answer_stops_;
  StopFilter reasoning_stops_;
  std::optional<ToolCallParser> calls_;
};

}  // namespace parhelion::text
