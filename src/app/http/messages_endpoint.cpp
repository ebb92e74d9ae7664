#include "app/http/api_state.h"
#include "app/http/block_format.h"
#include "app/http/make_id.h"
#include "app/http/sampling_fields.h"
#include "text/template_facts.h"

#include <algorithm>

namespace parhelion::app {
namespace {

[[noreturn]] void refuse_messages(const std::string& where, std::string_view what) {
  refuse(400, "invalid_messages", fmt::format("{}: {}", where, what), where);
}

std::string type_of(const Json& block, const std::string& where) {
  const Json* type = block.find("type");
  if (type == nullptr || !type->is_string()) refuse_messages(where, "a block has no type");
  return type->as_string(where);
}

const Json& member(const Json& block, std::string_view key, const std::string& where) {
  const Json* value = block.find(key);
  if (value == nullptr) refuse_messages(where, fmt::format("a block has no {}", key));
  return *value;
}

/// The text of a string or of blocks that are all text.
std::string plain_text(const Json& content, const std::string& where) {
  if (content.is_string()) return content.as_string(where);
  if (!content.is_array()) refuse_messages(where, "expected a string or a list of blocks");
  std::string text;
  for (const Json& block : content.as_array(where)) {
    if (type_of(block, where) != "text")
      refuse(400, "unsupported_content", where + ": has a block that is no text", where);
    text += member(block, "text", where).as_string(where);
  }
  return text;
}

/// What the blocks of one message become.
struct Sorted {
  std::string text;
  std::string reasoning;
  Json::Array calls;
  Json::Array results;  // messages of their own
};

void sort_block(const Json& block, const std::string& where, Sorted& sorted) {
  const std::string type = type_of(block, where);
  if (type == "text") {
    sorted.text += member(block, "text", where).as_string(where);
  } else if (type == "thinking") {
    sorted.reasoning += member(block, "thinking", where).as_string(where);
  } else if (type == "tool_use") {
    sorted.calls.push_back(
        Json::Object{{"id", member(block, "id", where)},
                     {"type", "function"},
                     {"function", Json::Object{{"name", member(block, "name", where)},
                                               {"arguments", member(block, "input", where)}}}});
  } else if (type == "tool_result") {
    const Json* content = block.find("content");
    sorted.results.push_back(
        Json::Object{{"role", "tool"},
                     {"tool_call_id", member(block, "tool_use_id", where)},
                     {"content", content == nullptr ? "" : plain_text(*content, where)}});
  } else {
    refuse(400, "unsupported_content",
           fmt::format("{}: blocks of type '{}' are not supported", where, type.substr(0, 40)),
           where);
  }
}

void add_message(const Json& message, const std::string& where, Json::Array& messages) {
  const std::string& role = member(message, "role", where).as_string(where);
  if (role != "user" && role != "assistant")
    refuse_messages(where, "the role is neither user nor assistant");
  const Json& content = member(message, "content", where);
  Sorted sorted;
  if (content.is_string()) {
    sorted.text = content.as_string(where);
  } else if (content.is_array()) {
    for (const Json& block : content.as_array(where)) sort_block(block, where, sorted);
  } else {
    refuse_messages(where, "the content is neither a string nor a list of blocks");
  }
  const bool has_results = !sorted.results.empty();
  std::ranges::move(sorted.results, std::back_inserter(messages));
  if (has_results && sorted.text.empty()) return;
  Json::Object made = {{"role", role}, {"content", sorted.text}};
  if (!sorted.reasoning.empty()) made.emplace_back("reasoning_content", sorted.reasoning);
  if (!sorted.calls.empty()) made.emplace_back("tool_calls", std::move(sorted.calls));
  messages.push_back(std::move(made));
}

/// What an Anthropic request asks of the model's thoughts; also a variable of the template.
std::optional<std::int64_t> read_thinking(Fields& fields, const ServedModel& model,
                                          text::ChatOptions& options) {
  const Json* thinking = fields.find("thinking");
  if (thinking == nullptr) return std::nullopt;
  const std::string type = thinking->is_object() ? type_of(*thinking, "thinking") : "";
  if (type != "enabled" && type != "disabled" && type != "adaptive")
    refuse_value("thinking", "thinking: expected an object of type enabled, adaptive or disabled");
  const auto& variables = model.chat_template->facts().variables;
  if (std::ranges::find(variables, "enable_thinking") != variables.end()) {
    Json::Object set = options.variables.as_object("variables");
    set.emplace_back("enable_thinking", type != "disabled");
    options.variables = std::move(set);
  }
  const Json* budget = thinking->find("budget_tokens");
  if (type != "enabled" || budget == nullptr) return std::nullopt;
  if (!budget->is_integer() || budget->as_double("thinking") < 1)
    refuse_value("thinking", "thinking: budget_tokens is no number of tokens");
  return budget->as_int64("thinking");
}

/// A request's conversation and what its reply is held to.
struct AnthropicPrompt {
  ChatPrompt prompt;
  ReplyPlan reply;
};

AnthropicPrompt read_prompt(ApiCall& call, Fields& fields) {
  const ServedModel& model = call.state.model;
  const Json messages = read_anthropic(fields);
  AnthropicPrompt made;
  made.reply.tools = read_message_tools(fields, model);
  PromptOptions options = read_prompt_options(fields, model);
  made.reply.thinking_tokens = read_thinking(fields, model, options.chat);
  if (made.reply.tools.is_offered()) options.chat.tools = made.reply.tools.list;
  made.prompt = render_chat(call, messages, options);
  return made;
}

/// `output_config.format`, or one of the constraints that all endpoints know.
Constraint read_output_format(Fields& fields) {
  const Json* config = fields.find("output_config");
  const Json* format = config == nullptr ? fields.find("output_format") : config->find("format");
  if (format != nullptr && !format->is_null()) return read_format(*format, "output_config.format");
  return read_constraint(fields);
}

void accept_anthropic_extras(Fields& fields) {
  fields.refuse_unless_off("mcp_servers", "servers of tools are not supported");
  fields.refuse_unless_off("container", "containers are not supported");
  fields.accept({"cache_control"});
  accept_idle_fields(fields);
}

}  // namespace

Json read_anthropic(Fields& fields) {
  Json::Array made;
  if (const Json* system = fields.find("system"))
    made.push_back(Json::Object{{"role", "system"}, {"content", plain_text(*system, "system")}});
  const Json* messages = fields.find("messages");
  if (messages == nullptr || !messages->is_array() || messages->as_array("messages").empty())
    refuse_messages("messages", "expected a list of at least one message");
  std::int64_t number = 0;
  for (const Json& message : messages->as_array("messages")) {
    const std::string where = fmt::format("messages.{}", number++);
    if (!message.is_object()) refuse_messages(where, "expected object");
    add_message(message, where, made);
  }
  return made;
}

HandlerReply messages(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const ServedModel& model = call.state.model;
  const auto max_tokens = fields.integer("max_tokens", 1, INT32_MAX);
  if (!max_tokens) refuse_value("max_tokens", "max_tokens: is missing");
  serve::Request request;
  read_sampling(fields, model, request);
  if (request.sequences != 1) refuse_value("n", "n: a message has one answer");
  GenerationPlan plan;
  plan.answer = read_answer_options(call, fields);
  plan.choices = read_choice_options(fields, model, "stop_sequences");
  const bool streams = fields.boolean("stream", false);
  accept_anthropic_extras(fields);
  AnthropicPrompt asked = read_prompt(call, fields);
  asked.reply.constraint = read_output_format(fields);
  asked.reply.bad_words = read_bad_words(fields, model, request);
  check_unknown(call, fields);
  request.prompt = std::move(asked.prompt.ids);
  request.fairness_key = fairness_key(call.request.label);
  bound_tokens(model, max_tokens, {}, request);
  plan.choices.call_prefix = "toolu_";
  apply_reply_plan(call, asked.reply, asked.prompt.text, plan.choices, request);
  auto format = make_messages_format(model, make_id("msg_"), std::ssize(request.prompt));
  plan.prompts.push_back({.request = std::move(request)});
  return generate(call, std::move(plan), std::move(format), streams);
}

HandlerReply count_tokens(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  accept_anthropic_extras(fields);
  const AnthropicPrompt asked = read_prompt(call, fields);
  read_output_format(fields);
  check_unknown(call, fields);
  return json_reply(Json::Object{{"input_tokens", std::ssize(asked.prompt.ids)}});
}

}  // namespace parhelion::app
