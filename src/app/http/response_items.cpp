#include "app/http/response_items.h"

#include "app/http/api_error.h"
#include "app/http/api_state.h"

#include <algorithm>
#include <iterator>

namespace parhelion::app {
namespace {

/// The text of an item's content: a string, or parts of text.
std::string item_text(const Json& content, const std::string& where) {
  if (content.is_string()) return content.as_string(where);
  if (!content.is_array())
    refuse(400, "invalid_messages", fmt::format("{}: expected a string or a list", where), where);
  std::string text;
  for (const Json& part : content.as_array(where)) {
    const Json* value = part.find("text");
    if (value == nullptr || !value->is_string())
      refuse(400, "unsupported_content", fmt::format("{}: has a part that is no text", where),
             where);
    text += value->as_string(where);
  }
  return text;
}

const Json& needed(const Json& item, std::string_view key, const std::string& where) {
  const Json* value = item.find(key);
  if (value == nullptr || value->is_null())
    refuse(400, "invalid_messages", fmt::format("{}: has no {}", where, key), where);
  return *value;
}

Json call_of(const Json& item, const std::string& where) {
  return Json::Object{
      {"id", needed(item, "call_id", where)},
      {"type", "function"},
      {"function",
       Json::Object{{"name", needed(item, "name", where)},
                    {"arguments", template_arguments(needed(item, "arguments", where))}}}};
}

/// Joins a call to the assistant's message before it, or begins one.
void add_call(const Json& item, const std::string& where, Json::Array& messages) {
  Json::Object message = {{"role", "assistant"}, {"content", ""}};
  Json::Array calls;
  if (!messages.empty() && *messages.back().find("role") == Json("assistant")) {
    message = messages.back().as_object(where);
    messages.pop_back();
    if (const Json* before = Json(message).find("tool_calls")) calls = before->as_array(where);
    std::erase_if(message, [](const Json::Member& each) { return each.first == "tool_calls"; });
  }
  calls.push_back(call_of(item, where));
  message.emplace_back("tool_calls", std::move(calls));
  messages.push_back(std::move(message));
}

/// Begins an assistant's message with its thoughts, which the template shows or not.
void add_thoughts(const Json& item, const std::string& where, Json::Array& messages) {
  const Json* content = item.find("content");
  const bool has_content = content != nullptr && !content->is_null();
  std::string text = has_content ? item_text(*content, where) : std::string();
  const Json* summary = item.find("summary");
  if (text.empty() && summary != nullptr && !summary->is_null()) text = item_text(*summary, where);
  if (text.empty()) return;  // such as thoughts of another server, which only it can read
  messages.push_back(
      Json::Object{{"role", "assistant"}, {"content", ""}, {"reasoning_content", text}});
}

/// Whether the last message has thoughts and nothing else yet.
bool ends_in_thoughts(const Json::Array& messages) {
  return !messages.empty() && messages.back().find("reasoning_content") != nullptr &&
         messages.back().find("tool_calls") == nullptr &&
         *messages.back().find("content") == Json("");
}

/// Puts the answer behind its thoughts.
void add_answer(std::string text, Json::Array& messages) {
  const Json thoughts = *messages.back().find("reasoning_content");
  messages.back() = Json::Object{
      {"role", "assistant"}, {"content", std::move(text)}, {"reasoning_content", thoughts}};
}

/// An item without a type is a message.
std::string item_kind(const Json& item, const std::string& where) {
  const Json* type = item.find("type");
  return type == nullptr ? "message" : type->as_string(where);
}

void add_item(const Json& item, const std::string& where, Json::Array& messages) {
  const std::string kind = item_kind(item, where);
  if (kind == "message") {
    const std::string& role = needed(item, "role", where).as_string(where);
    if (role == "assistant" && ends_in_thoughts(messages))
      return add_answer(item_text(needed(item, "content", where), where), messages);
    messages.push_back(Json::Object{{"role", role == "developer" ? "system" : role},
                                    {"content", item_text(needed(item, "content", where), where)}});
  } else if (kind == "function_call") {
    add_call(item, where, messages);
  } else if (kind == "function_call_output") {
    messages.push_back(Json::Object{{"role", "tool"},
                                    {"tool_call_id", needed(item, "call_id", where)},
                                    {"content", item_text(needed(item, "output", where), where)}});
  } else if (kind == "reasoning") {
    add_thoughts(item, where, messages);
  } else {
    refuse_feature("input", fmt::format("{}: items of type '{}' are not supported", where,
                                        kind.substr(0, 40)));
  }
}

/// What the ids of items of a kind begin with.
std::string_view id_prefix(std::string_view kind) {
  if (kind == "function_call") return "fc";
  if (kind == "function_call_output") return "fco";
  return kind == "reasoning" ? "rs" : "msg";
}

/// A message's content as a list of parts.
Json content_parts(const Json& content, bool is_answer) {
  if (!content.is_string()) return content;
  return Json::Array{
      Json::Object{{"type", is_answer ? "output_text" : "input_text"}, {"text", content}}};
}

/// An item with all that clients expect of one.
Json full_item(const Json& item, std::string id) {
  const std::string kind = item_kind(item, "input");
  const Json* role = item.find("role");
  const bool is_answer = role != nullptr && *role == Json("assistant");
  const bool is_message = kind == "message";
  Json::Object made = {{"id", std::move(id)}, {"type", kind}, {"status", "completed"}};
  for (const auto& [key, value] : item.as_object("input")) {
    const bool is_set = key == "id" || key == "type" || key == "status";
    if (is_set) continue;
    made.emplace_back(key,
                      is_message && key == "content" ? content_parts(value, is_answer) : value);
  }
  return made;
}

}  // namespace

Json::Array input_items(Fields& fields) {
  const Json* input = fields.find("input");
  if (input != nullptr && input->is_string())
    return {Json::Object{{"role", "user"}, {"content", *input}}};
  if (input == nullptr || !input->is_array() || input->as_array("input").empty())
    refuse(400, "invalid_messages", "input: expected a string or a list of items", "input");
  return input->as_array("input");
}

void add_items(const Json::Array& items, std::string_view name, Json::Array& messages) {
  std::int64_t number = 0;
  for (const Json& item : items) {
    const std::string where = fmt::format("{}.{}", name, number++);
    if (!item.is_object()) refuse(400, "invalid_messages", where + ": expected object", where);
    add_item(item, where, messages);
  }
}

Json::Array full_items(const Json::Array& items, std::string_view response_id) {
  Json::Array made;
  const std::string_view end = response_id.substr(response_id.find('_') + 1);
  for (const Json& item : items) {
    const std::string_view prefix = id_prefix(item_kind(item, "input"));
    made.push_back(full_item(item, fmt::format("{}_{}_in{}", prefix, end, made.size())));
  }
  return made;
}

Json::Array conversation_items(const StoredResponse* last) {
  std::vector<const StoredResponse*> turns;
  for (; last != nullptr; last = last->previous.get()) turns.push_back(last);
  Json::Array items;
  for (auto each = turns.rbegin(); each != turns.rend(); ++each) {
    const Json input = parse_json((*each)->input, "stored input");
    const Json body = parse_json((*each)->body, "stored response");
    std::ranges::copy(input.as_array("stored input"), std::back_inserter(items));
    std::ranges::copy(body.find("output")->as_array("output"), std::back_inserter(items));
  }
  return items;
}

}  // namespace parhelion::app
