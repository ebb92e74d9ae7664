#include "app/http/api_state.h"
#include "app/http/block_format.h"
#include "app/http/make_id.h"
#include "app/http/sampling_fields.h"

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

void add_item(const Json& item, const std::string& where, Json::Array& messages) {
  const Json* type = item.find("type");
  const std::string kind = type == nullptr ? "message" : type->as_string(where);
  if (kind == "message") {
    const std::string& role = needed(item, "role", where).as_string(where);
    messages.push_back(Json::Object{{"role", role == "developer" ? "system" : role},
                                    {"content", item_text(needed(item, "content", where), where)}});
  } else if (kind == "function_call") {
    add_call(item, where, messages);
  } else if (kind == "function_call_output") {
    messages.push_back(Json::Object{{"role", "tool"},
                                    {"tool_call_id", needed(item, "call_id", where)},
                                    {"content", item_text(needed(item, "output", where), where)}});
  } else if (kind == "reasoning") {
    return;  // earlier thoughts are not shown to the model again
  } else {
    refuse_feature("input", fmt::format("{}: items of type '{}' are not supported", where,
                                        kind.substr(0, 40)));
  }
}

void refuse_stored(Fields& fields) {
  fields.refuse_unless_off("previous_response_id", "answers are not stored");
  fields.refuse_unless_off("conversation", "answers are not stored");
  fields.refuse_unless_off("store", "answers are not stored");
  fields.refuse_unless_off("background", "answers are not stored");
  fields.refuse_unless_off("prompt", "prompts are not stored");
  fields.refuse_unless_off("max_tool_calls", "built-in tools are not supported");
  const auto truncation = fields.text("truncation");
  if (truncation && *truncation != "disabled")
    refuse_feature("truncation", "truncation: inputs are never cut");
}

Constraint read_text_format(Fields& fields) {
  const Json* text = fields.find("text");
  const Json* format = text == nullptr ? nullptr : text->find("format");
  return format == nullptr ? Constraint{} : read_format(*format, "text.format");
}

/// What a response repeats of its request.
Json::Object repeated(Fields& fields) {
  Json::Object members;
  const auto repeat = [&](std::string_view name, Json absent) {
    const Json* value = fields.find(name);
    members.emplace_back(name, value == nullptr ? std::move(absent) : *value);
  };
  repeat("instructions", nullptr);
  repeat("max_output_tokens", nullptr);
  repeat("metadata", Json::Object{});
  repeat("parallel_tool_calls", true);
  repeat("reasoning", Json::Object{{"effort", nullptr}, {"summary", nullptr}});
  repeat("temperature", nullptr);
  repeat("text", Json::Object{{"format", Json::Object{{"type", "text"}}}});
  repeat("tool_choice", "auto");
  repeat("tools", Json::Array{});
  repeat("top_p", nullptr);
  members.insert(members.end(), {{"previous_response_id", Json()},
                                 {"background", Json(false)},
                                 {"store", Json(false)},
                                 {"truncation", Json("disabled")}});
  return members;
}

}  // namespace

Json read_input(Fields& fields) {
  Json::Array messages;
  if (const auto instructions = fields.text("instructions"))
    messages.push_back(Json::Object{{"role", "system"}, {"content", *instructions}});
  const Json* input = fields.find("input");
  if (input != nullptr && input->is_string()) {
    messages.push_back(Json::Object{{"role", "user"}, {"content", *input}});
    return messages;
  }
  if (input == nullptr || !input->is_array() || input->as_array("input").empty())
    refuse(400, "invalid_messages", "input: expected a string or a list of items", "input");
  std::int64_t number = 0;
  for (const Json& item : input->as_array("input")) {
    const std::string where = fmt::format("input.{}", number++);
    if (!item.is_object()) refuse(400, "invalid_messages", where + ": expected object", where);
    add_item(item, where, messages);
  }
  return messages;
}

HandlerReply responses(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const ServedModel& model = call.state.model;
  const Json messages = read_input(fields);
  serve::Request request;
  read_sampling(fields, model, request);
  if (request.sequences != 1) refuse_value("n", "n: a response has one answer");
  GenerationPlan plan;
  plan.answer = read_answer_options(call, fields);
  plan.choices = read_choice_options(fields, model, "stop");
  const bool streams = fields.boolean("stream", false);
  const auto max_tokens = fields.integer("max_output_tokens", 1, INT32_MAX);
  ReplyPlan reply;
  reply.bad_words = read_bad_words(fields, model, request);
  reply.tools = read_response_tools(fields, model);
  reply.constraint = read_text_format(fields);
  reply.thinking_tokens = read_thinking_budget(fields);
  PromptOptions options = read_prompt_options(fields, model);
  if (reply.tools.is_offered()) options.chat.tools = reply.tools.list;
  refuse_stored(fields);
  fields.refuse_unless_off("top_logprobs", "log-probabilities are those of /v1/chat/completions");
  fields.accept({"include", "stream_options"});
  accept_idle_fields(fields);
  auto format = make_responses_format(model, make_id("resp_"), repeated(fields));
  check_unknown(call, fields);
  ChatPrompt prompt = render_chat(call, messages, options);
  request.prompt = std::move(prompt.ids);
  request.fairness_key = fairness_key(call.request.label);
  bound_tokens(model, max_tokens, {}, request);
  apply_reply_plan(call, reply, prompt.text, plan.choices, request);
  plan.prompts.push_back({.request = std::move(request)});
  return generate(call, std::move(plan), std::move(format), streams);
}

}  // namespace parhelion::app
