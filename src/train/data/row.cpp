#include "train/data/row.h"

#include "base/error.h"

#include <fmt/format.h>

namespace parhelion::train {
namespace {

void check_message(const Json& message, std::string_view where) {
  ensure(message.is_object(), ErrorKind::invalid, "{} is {}, expected object", where,
         message.type_name());
  const Json* role = message.find("role");
  ensure(role != nullptr && role->is_string(), ErrorKind::invalid,
         "{}: role is {}, expected string", where, role != nullptr ? role->type_name() : "missing");
  const Json* content = message.find("content");
  const bool has_content = content != nullptr && !content->is_null();
  if (!has_content && message.find("tool_calls") != nullptr) return;
  ensure(has_content && (content->is_string() || content->is_array()), ErrorKind::invalid,
         "{}: content is {}, expected string or array", where,
         content != nullptr ? content->type_name() : "missing");
}

ChatRow read_chat_row(const Json& row) {
  ChatRow chat{.messages = row.find("messages")->as_array("messages"), .tools = {}};
  ensure(!chat.messages.empty(), ErrorKind::invalid, "messages: is empty, expected turns");
  for (std::size_t i = 0; i < chat.messages.size(); ++i) {
    check_message(chat.messages[i], fmt::format("turn {}", i + 1));
  }
  if (const Json* tools = row.find("tools"); tools != nullptr && !tools->is_null()) {
    chat.tools = tools->as_array("tools");
  }
  return chat;
}

}  // namespace

Row parse_row(std::string_view line) {
  const Json row = parse_json(line, "row");
  ensure(row.is_object(), ErrorKind::invalid, "row: is {}, expected object", row.type_name());
  const Json* text = row.find("text");
  const Json* prompt = row.find("prompt");
  const Json* completion = row.find("completion");
  const bool is_chat = row.find("messages") != nullptr;
  const int kinds = (text != nullptr) + (prompt != nullptr || completion != nullptr) + is_chat;
  ensure(kinds == 1, ErrorKind::invalid,
         "row: has {} of these, expected one: text; prompt and completion; messages", kinds);
  if (is_chat) return read_chat_row(row);
  if (text != nullptr) return TextRow{text->as_string("text")};
  ensure(prompt != nullptr && completion != nullptr, ErrorKind::invalid,
         "row: has no {}, expected prompt and completion",
         prompt == nullptr ? "prompt" : "completion");
  return CompletionRow{prompt->as_string("prompt"), completion->as_string("completion")};
}

}  // namespace parhelion::train
