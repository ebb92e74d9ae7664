#include "app/http/api_state.h"
#include "app/http/fit_messages.h"
#include "app/http/make_id.h"
#include "text/prompt_text.h"
#include "text/template_facts.h"

#include <algorithm>

namespace parhelion::app {
namespace {

/// The text of a message's content. Errors: 400 for parts that are no text.
std::string content_text(const Json& content, const std::string& where) {
  if (content.is_null()) return {};
  if (content.is_string()) return content.as_string(where);
  if (!content.is_array())
    refuse(400, "invalid_messages",
           fmt::format("{}: is {}, expected a string or a list", where, content.type_name()),
           where);
  std::string text;
  for (const Json& part : content.as_array(where)) {
    const Json* type = part.find("type");
    const Json* value = part.find("text");
    const bool is_text = type != nullptr && type->is_string() && type->as_string(where) == "text";
    if (!is_text)
      refuse(400, "unsupported_content", fmt::format("{}: has a part that is no text", where),
             where);
    if (value == nullptr || !value->is_string())
      refuse(400, "invalid_messages", fmt::format("{}: a part has no text", where), where);
    text += value->as_string(where);
  }
  return text;
}

Json template_call(const Json& call, const std::string& where) {
  const Json* function = call.find("function");
  const Json* name = function == nullptr ? nullptr : function->find("name");
  if (name == nullptr || !name->is_string())
    refuse(400, "invalid_messages", fmt::format("{}: a call has no function's name", where), where);
  const Json* given = function->find("arguments");
  const Json* id = call.find("id");
  return Json::Object{
      {"id", id == nullptr ? Json("") : *id},
      {"type", "function"},
      {"function",
       Json::Object{{"name", *name},
                    {"arguments", template_arguments(given == nullptr ? Json() : *given)}}}};
}

Json template_message(const Json& message, const std::string& where) {
  const Json* role = message.find("role");
  if (role == nullptr || !role->is_string())
    refuse(400, "invalid_messages", fmt::format("{}: has no role", where), where);
  Json::Object made;
  for (const auto& [key, value] : message.as_object(where)) {
    if (key == "content") {
      made.emplace_back(key, content_text(value, where + ".content"));
    } else if (key == "role") {
      const bool is_developer = value.as_string(where) == "developer";
      made.emplace_back(key, is_developer ? Json("system") : value);
    } else if (key == "tool_calls" && value.is_array()) {
      Json::Array calls;
      for (const Json& call : value.as_array(where)) calls.push_back(template_call(call, where));
      made.emplace_back(key, std::move(calls));
    } else if (!value.is_null()) {
      made.emplace_back(key, value);
    }
  }
  if (Json(made).find("content") == nullptr) made.emplace_back("content", "");
  return made;
}

/// Variables of a request, all of which the template must read.
Json checked_variables(const Json& variables, const ServedModel& model) {
  constexpr std::string_view kName = "chat_template_kwargs";
  if (!variables.is_object()) refuse_value(kName, "chat_template_kwargs: expected object");
  try {
    if (model.chat_template)
      text::check_template_variables(model.chat_template->facts(), variables);
  } catch (const Error& error) {
    refuse_value(kName, fmt::format("chat_template_kwargs: {}", error.what()));
  }
  return variables;
}

bool template_reads(const ServedModel& model, std::string_view name) {
  if (!model.chat_template) return false;
  const auto& names = model.chat_template->facts().variables;
  return std::ranges::find(names, name) != names.end();
}

/// The messages with `mark` behind the text of the last one.
Json with_mark(const Json& messages, const std::string& mark) {
  Json::Array marked = messages.as_array("messages");
  Json::Object last = marked.back().as_object("messages");
  for (auto& [key, value] : last) {
    if (key == "content") value = value.as_string("content") + mark;
  }
  marked.back() = std::move(last);
  return marked;
}

/// The conversation up to the end of the last message's text, so that the reply goes on there. The
/// place is found by a mark, since templates trim texts and texts repeat.
text::PromptText render_open(const ServedModel& model, const Json& messages,
                             const text::ChatOptions& options) {
  const std::string mark = make_id("\u2402");
  text::PromptText prompt = text::render_prompt(*model.chat_template, model.tokenizer,
                                                with_mark(messages, mark), options);
  const std::size_t end = prompt.text.find(mark);
  if (end == std::string::npos || prompt.text.find(mark, end + 1) != std::string::npos)
    refuse(400, "invalid_messages",
           "continue_final_message: the template does not show the last message once", "messages");
  prompt.text.resize(end);
  std::erase_if(prompt.plain_at, [end](std::size_t at) { return at >= end; });
  return prompt;
}

}  // namespace

void set_effort(const std::string& effort, const ServedModel& model, text::ChatOptions& options) {
  Json::Object variables = options.variables.as_object("variables");
  if (template_reads(model, "reasoning_effort")) {
    variables.emplace_back("reasoning_effort", effort);
  } else if (template_reads(model, "enable_thinking")) {
    variables.emplace_back("enable_thinking", effort != "none" && effort != "minimal");
  }
  options.variables = std::move(variables);
}

Json template_arguments(const Json& given) {
  if (given.is_null()) return Json::Object{};
  if (!given.is_string()) return given;
  try {
    return parse_json(given.as_string("arguments"), "arguments");
  } catch (const Error&) {
    return given;  // the model wrote it so
  }
}

Json read_messages(Fields& fields) {
  const Json* messages = fields.find("messages");
  if (messages == nullptr || !messages->is_array() || messages->as_array("messages").empty())
    refuse(400, "invalid_messages", "messages: expected a list of at least one message",
           "messages");
  Json::Array made;
  for (const Json& message : messages->as_array("messages")) {
    const std::string where = fmt::format("messages.{}", made.size());
    if (!message.is_object())
      refuse(400, "invalid_messages",
             fmt::format("{}: is {}, expected object", where, message.type_name()), where);
    made.push_back(template_message(message, where));
  }
  return made;
}

PromptOptions read_prompt_options(Fields& fields, const ServedModel& model) {
  PromptOptions options;
  options.continues_last = fields.boolean("continue_final_message", false);
  if (options.continues_last && fields.boolean("add_generation_prompt", false))
    refuse_value("continue_final_message",
                 "continue_final_message: excludes add_generation_prompt");
  options.chat = text::prompt_options(model.tokenizer);
  text::ChatOptions& chat = options.chat;
  chat.add_generation_prompt = fields.boolean("add_generation_prompt", !options.continues_last);
  if (const Json* variables = fields.find("chat_template_kwargs"); variables != nullptr)
    chat.variables = checked_variables(*variables, model);
  if (const auto effort = fields.text("reasoning_effort")) set_effort(*effort, model, chat);
  fields.refuse_unless_off("chat_template", "a request brings no template of its own here");
  options.most_tokens = read_prompt_limit(fields);
  return options;
}

std::optional<std::int64_t> read_prompt_limit(Fields& fields) {
  return fields.integer("truncate_prompt_tokens", 1, 1 << 30);
}

void truncate_prompt(std::optional<std::int64_t> most, std::vector<std::int32_t>& ids) {
  if (most && std::ssize(ids) > *most) ids.erase(ids.begin(), ids.end() - *most);
}

ChatPrompt render_chat(ApiCall& call, const Json& given, const PromptOptions& options) {
  const ServedModel& model = call.state.model;
  const Json messages = fit_messages(given, call.state.traits);
  if (!model.chat_template) refuse_feature("messages", "the model has no chat template");
  text::PromptText rendered;
  try {
    rendered = options.continues_last ? render_open(model, messages, options.chat)
                                      : text::render_prompt(*model.chat_template, model.tokenizer,
                                                            messages, options.chat);
  } catch (const RefusedRequest&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid) throw;
    refuse(400, "invalid_messages", error.what(), "messages");
  }
  ChatPrompt prompt;
  prompt.ids = encode_prompt(call, rendered.text, {.plain_at = rendered.plain_at});
  prompt.text = std::move(rendered.text);
  truncate_prompt(options.most_tokens, prompt.ids);
  return prompt;
}

std::vector<std::int32_t> encode_prompt(ApiCall& call, std::string_view text,
                                        const text::EncodeOptions& options) {
  const auto begin = ApiClock::now();
  std::vector<std::int32_t> ids = call.state.model.tokenizer.encode(text, options);
  call.state.metrics.tokenise.observe(
      std::chrono::duration<double>(ApiClock::now() - begin).count());
  return ids;
}

}  // namespace parhelion::app
