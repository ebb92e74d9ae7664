#pragma once

#include "base/json.h"
#include "text/reply/reply_event.h"
#include "text/reply/reply_format.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text {

class ToolCallReader;

/// Tells tool calls from text in an answer that comes in pieces cut anywhere. A call is told as
/// soon as its name and the beginning of its arguments are there, its arguments as they come. What
/// begins like a call and is none stays text. If a call breaks off behind the beginning of its
/// arguments, they stay as they are, without an end, and what follows is text. White space around
/// calls is dropped.
class ToolCallParser {
 public:
  /// `tools` is the list of a request, for the types of arguments; null: unknown.
  explicit ToolCallParser(ToolFormat format, Json tools = {});
  ~ToolCallParser();
  ToolCallParser(ToolCallParser&&) noexcept;
  ToolCallParser& operator=(ToolCallParser&&) noexcept;

  /// Appends what is decided of the answer so far.
  void push(std::string_view piece, ReplyEvents& events);
  /// Appends what was held back, at the end of the answer.
  void finish(ReplyEvents& events);

  /// How many calls there have been, and how often something began like one and was none or broke
  /// off.
  std::int64_t call_count() const;
  std::int64_t malformed_count() const;

 private:
  std::unique_ptr<ToolCallReader> reader_;
};

}  // namespace parhelion::text
