#include "app/http/fit_messages.h"

#include <string>

namespace parhelion::app {
namespace {

/// The object with `value` in place of a member.
Json with_member(const Json& object, std::string_view key, const Json& value) {
  Json::Object made = object.as_object("message");
  for (auto& [name, old] : made) {
    if (name == key) old = value;
  }
  return made;
}

Json with_text_arguments(const Json& calls) {
  Json::Array made;
  for (const Json& call : calls.as_array("tool_calls")) {
    const Json& function = *call.find("function");
    const Json& arguments = *function.find("arguments");
    const Json text = arguments.is_string() ? arguments : Json(write_json(arguments));
    made.push_back(with_member(call, "function", with_member(function, "arguments", text)));
  }
  return made;
}

Json without_calls(const Json& message) {
  Json::Object made;
  for (const auto& [name, value] : message.as_object("message")) {
    if (name != "tool_calls") made.emplace_back(name, value);
  }
  return made;
}

bool has_text(const Json& message) {
  const Json* content = message.find("content");
  return content != nullptr && content->is_string() && !content->as_string("content").empty();
}

}  // namespace

Json fit_messages(const Json& messages, const text::TemplateTraits& traits) {
  const bool takes_text = traits.call_arguments == text::CallArguments::text;
  if (!takes_text && !traits.calls_lack_content) return messages;
  Json::Array made;
  for (const Json& each : messages.as_array("messages")) {
    const Json* calls = each.find("tool_calls");
    if (calls == nullptr || !calls->is_array()) {
      made.push_back(each);
      continue;
    }
    Json message = takes_text ? with_member(each, "tool_calls", with_text_arguments(*calls)) : each;
    if (traits.calls_lack_content) {
      if (has_text(message)) made.push_back(without_calls(message));
      message = with_member(message, "content", {});
    }
    made.push_back(std::move(message));
  }
  return made;
}

}  // namespace parhelion::app
