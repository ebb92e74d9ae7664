#include "text/template_traits.h"

#include "base/error.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace parhelion::text {
namespace {

constexpr std::string_view kNeedle = "zqneedle";

Json probe_message(std::string_view role, Json content) {
  return Json::Object{{"role", Json(role)}, {"content", std::move(content)}};
}

Json probe_call(Json arguments, Json content) {
  const Json function = Json::Object{{"name", "zqname"}, {"arguments", std::move(arguments)}};
  const Json call = Json::Object{{"id", "zq1234567"}, {"type", "function"}, {"function", function}};
  return Json::Object{
      {"role", "assistant"}, {"content", std::move(content)}, {"tool_calls", Json::Array{call}}};
}

Json probe_result(std::string_view content) {
  return Json::Object{{"role", "tool"},
                      {"name", "zqname"},
                      {"tool_call_id", "zq1234567"},
                      {"content", Json(content)}};
}

Json probe_tools(std::string_view name) {
  const Json parameters = Json::Object{
      {"type", "object"},
      {"properties",
       Json::Object{{"zqkey", Json::Object{{"type", "string"}, {"description", "d"}}}}}};
  const Json function =
      Json::Object{{"name", Json(name)}, {"description", "d"}, {"parameters", parameters}};
  return Json::Array{Json::Object{{"type", "function"}, {"function", function}}};
}

/// Renders conversations and looks for what they must show.
class Prober {
 public:
  Prober(const ChatTemplate& chat, const ChatOptions& options) : chat_(chat), options_(options) {}

  /// The text, or nothing if the template refuses.
  std::optional<std::string> render(const Json& messages, bool prompts, const Json& tools = {},
                                    const Json& variables = Json::Object{}) const try {
    ChatOptions options = options_;
    options.add_generation_prompt = prompts;
    options.tools = tools;
    options.variables = variables;
    return chat_.render(messages, options);
  } catch (const Error&) {
    return std::nullopt;
  }

  bool shows(const Json& messages, std::string_view text, const Json& tools = {}) const {
    const auto rendered = render(messages, false, tools);
    return rendered && rendered->find(text) != std::string::npos;
  }

 private:
  const ChatTemplate& chat_;
  const ChatOptions& options_;
};

bool takes_role(const Prober& prober, std::string_view role) {
  return prober.shows(Json::Array{probe_message(role, Json(kNeedle)), probe_message("user", "a")},
                      kNeedle);
}

bool takes_parts(const Prober& prober) {
  const Json parts = Json::Array{Json::Object{{"type", "text"}, {"text", Json(kNeedle)}}};
  const auto text = prober.render(Json::Array{probe_message("user", parts)}, false);
  // A list that is printed as it stands shows its keys.
  return text && text->find(kNeedle) != std::string::npos &&
         text->find("'type'") == std::string::npos && text->find("\"type\"") == std::string::npos;
}

CallArguments call_arguments(const Prober& prober, const Json& content) {
  const Json object = Json::Object{{"zqkey", Json(kNeedle)}};
  const auto shows_plainly = [&](const Json& arguments) {
    const auto text = prober.render(
        Json::Array{probe_message("user", "a"), probe_call(arguments, content), probe_result("r")},
        false, probe_tools("zqname"));
    return text && text->find(kNeedle) != std::string::npos &&
           text->find("\\\"zqkey") == std::string::npos &&
           text->find("'zqkey'") == std::string::npos;
  };
  if (shows_plainly(object)) return CallArguments::object;
  return shows_plainly(Json(write_json(object))) ? CallArguments::text : CallArguments::none;
}

std::string reasoning_field(const Prober& prober) {
  for (const char* field : {"reasoning_content", "thinking", "reasoning"}) {
    Json::Object call = probe_call(Json::Object{}, "").as_object("call");
    call.emplace_back(field, Json(kNeedle));
    const Json messages =
        Json::Array{probe_message("user", "a"), Json(std::move(call)), probe_result("r")};
    if (prober.shows(messages, kNeedle, probe_tools("zqname"))) return field;
  }
  return {};
}

PromptReasoning prompt_reasoning(const Prober& prober, const ReasoningFormat& format) {
  const Json messages = Json::Array{probe_message("user", "a")};
  const auto opens = [&](const Json& variables) {
    const auto prompt = prober.render(messages, true, {}, variables);
    return prompt && opens_reasoning(*prompt, format);
  };
  const auto both = [](bool value) {
    return Json::Object{{"enable_thinking", Json(value)}, {"thinking", Json(value)}};
  };
  const bool opens_at_all = opens(Json::Object{}) || opens(both(true));
  if (!opens_at_all) return PromptReasoning::never;
  return opens(both(false)) ? PromptReasoning::always : PromptReasoning::by_variable;
}

}  // namespace

TemplateTraits probe_template(const ChatTemplate& chat, const ChatOptions& options,
                              const std::optional<ReasoningFormat>& reasoning) {
  const Prober prober(chat, options);
  const Json user = Json::Array{probe_message("user", Json(kNeedle))};
  const auto plain = prober.render(user, false);
  const auto prompt = prober.render(user, true);
  const Json result = Json::Array{probe_message("user", "a"), probe_call(Json::Object{}, ""),
                                  probe_result(kNeedle)};
  const CallArguments arguments = call_arguments(prober, "");
  const CallArguments bare_arguments = call_arguments(prober, Json());
  const bool lacks_content =
      arguments == CallArguments::none && bare_arguments != CallArguments::none;
  return {.takes_system = takes_role(prober, "system"),
          .takes_developer = takes_role(prober, "developer"),
          .takes_text = prober.shows(user, kNeedle),
          .takes_parts = takes_parts(prober),
          .takes_tools = prober.shows(user, "zqname", probe_tools("zqname")),
          .takes_tool_results = prober.shows(result, kNeedle, probe_tools("zqname")),
          .call_arguments = lacks_content ? bare_arguments : arguments,
          .calls_lack_content = lacks_content,
          .adds_generation_prompt = plain && prompt && *plain != *prompt,
          .reasoning_field = reasoning_field(prober),
          .prompt_reasoning =
              reasoning ? prompt_reasoning(prober, *reasoning) : PromptReasoning::never};
}

}  // namespace parhelion::text
