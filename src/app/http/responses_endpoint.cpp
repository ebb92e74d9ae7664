#include "app/http/api_state.h"
#include "app/http/block_format.h"
#include "app/http/make_id.h"
#include "app/http/response_items.h"
#include "app/http/sampling_fields.h"

namespace parhelion::app {
namespace {

constexpr std::int64_t kMostTurns = 256;  // of a conversation

/// What a request says of keeping its response.
struct Keeping {
  bool keeps = false;
  bool is_background = false;
  SharedResponse previous = {};
};

/// The response that a request goes on from.
SharedResponse read_previous(ApiCall& call, Fields& fields) {
  constexpr std::string_view kName = "previous_response_id";
  const auto id = fields.text(kName);
  if (!id) return nullptr;
  SharedResponse previous = call.state.responses.find(*id, call.request.label);
  if (!previous)
    refuse(404, "response_not_found", "previous_response_id: no response of this id is kept",
           kName);
  if (!is_over(previous->status))
    refuse(409, "response_in_progress", "previous_response_id: the response is not over", kName);
  if (previous->status > ResponseStatus::incomplete)
    refuse_value(kName, "previous_response_id: the response has failed or was cancelled");
  std::int64_t turns = 1;
  for (const StoredResponse* each = previous.get(); each != nullptr; each = each->previous.get())
    ++turns;
  if (turns > kMostTurns)
    refuse_value(kName, fmt::format("previous_response_id: goes on from {} responses, expected at "
                                    "most {}",
                                    turns - 1, kMostTurns - 1));
  return previous;
}

Keeping read_keeping(ApiCall& call, Fields& fields, bool streams) {
  Keeping keeping;
  if (!call.state.responses.is_on()) {
    for (const std::string_view name : {"previous_response_id", "store", "background"})
      fields.refuse_unless_off(name, "this server keeps no responses (--stored-responses)");
    return keeping;
  }
  keeping.is_background = fields.boolean("background", false);
  keeping.keeps = fields.boolean("store", keeping.is_background);
  if (keeping.is_background && !keeping.keeps)
    refuse_value("background", "background: needs store, which is false");
  if (keeping.is_background && streams)
    refuse_feature("background", "background: such a response is not streamed");
  keeping.previous = read_previous(call, fields);
  return keeping;
}

void refuse_absent(Fields& fields) {
  fields.refuse_unless_off("conversation", "conversations are not kept");
  fields.refuse_unless_off("prompt", "prompts are not stored");
  fields.refuse_unless_off("max_tool_calls", "built-in tools are not supported");
  const auto truncation = fields.text("truncation");
  if (truncation && *truncation != "disabled")
    refuse_feature("truncation", "truncation: inputs are never cut");
}

Constraint read_text_format(Fields& fields) {
  const Json* text = fields.find("text");
  const Json* format = text == nullptr ? nullptr : text->find("format");
  const Constraint given = format == nullptr ? Constraint{} : read_format(*format, "text.format");
  const Constraint other = read_constraint(fields);
  if (given.kind != Constraint::Kind::none && other.kind != Constraint::Kind::none)
    refuse_value("text.format", "text.format, regex, choice and grammar: expected one of them");
  return other.kind == Constraint::Kind::none ? given : other;
}

/// `reasoning.effort`; what else is there says how thoughts are told.
std::optional<std::string> read_effort(Fields& fields) {
  const Json* reasoning = fields.find("reasoning");
  const Json* effort = reasoning == nullptr ? nullptr : reasoning->find("effort");
  if (effort == nullptr || effort->is_null()) return std::nullopt;
  if (!effort->is_string()) refuse_value("reasoning.effort", "reasoning.effort: expected string");
  return effort->as_string("reasoning.effort");
}

/// What a response may have besides; only log-probabilities are of use, and are not there.
void check_include(Fields& fields) {
  for (const std::string& each : fields.texts("include", 16)) {
    if (each.ends_with("logprobs"))
      refuse_feature("include", "log-probabilities are those of /v1/chat/completions");
  }
}

/// What a response repeats of its request.
Json::Object repeated(Fields& fields, const Keeping& keeping) {
  Json::Object members;
  const auto repeat = [&](std::string_view name, const Json& absent) {
    const Json* value = fields.find(name);
    members.emplace_back(name, value == nullptr ? absent : *value);
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
  const Json previous = keeping.previous ? Json(keeping.previous->id) : Json();
  members.insert(members.end(), {{"previous_response_id", previous},
                                 {"background", Json(keeping.is_background)},
                                 {"store", Json(keeping.keeps)},
                                 {"truncation", Json("disabled")}});
  return members;
}

/// The conversation: instructions, which hold for this response only, what came before, input.
Json::Array read_conversation(Fields& fields, const Json::Array& input, const Keeping& keeping) {
  Json::Array messages;
  if (const auto instructions = fields.text("instructions"))
    messages.push_back(Json::Object{{"role", "system"}, {"content", *instructions}});
  add_items(conversation_items(keeping.previous.get()), "previous_response_id", messages);
  add_items(input, "input", messages);
  return messages;
}

/// What keeps the response; null if nothing does.
///
/// Errors: 400 if there could be no room for it.
std::unique_ptr<ResponseRecord> make_record(ApiCall& call, const std::string& id,
                                            const Json::Array& input, const Keeping& keeping) {
  if (!keeping.keeps) return nullptr;
  ResponseStore& store = call.state.responses;
  StoredResponse response{.id = id,
                          .owner = call.request.label,
                          .is_background = keeping.is_background,
                          .input = write_json(full_items(input, id)),
                          .previous = keeping.previous};
  if (!store.could_hold(response))
    refuse_value("store", fmt::format("store: the conversation is longer than the {} bytes that "
                                      "are kept",
                                      store.limits().bytes));
  return std::make_unique<ResponseRecord>(store, std::move(response));
}

/// Answers at once with the response's first state, and goes on without the client.
HandlerReply generate_behind(ApiCall& call, const std::string& id, GenerationPlan plan,
                             std::unique_ptr<AnswerFormat> format) {
  const std::shared_ptr<Bell> bell = call.state.background.bell();
  ApiCall behind{call.state, call.request, call.endpoint, bell};
  const SharedResponse begun = call.state.responses.find(id, call.request.label);
  HandlerReply made = generate(behind, std::move(plan), std::move(format), false);
  call.state.background.add(id, std::move(made.source));
  return {.reply = {.body = begun->body}};
}

}  // namespace

HandlerReply responses(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const ServedModel& model = call.state.model;
  const Json::Array input = input_items(fields);
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
  if (const auto effort = read_effort(fields)) set_effort(*effort, model, options.chat);
  if (reply.tools.is_offered()) options.chat.tools = reply.tools.list;
  const Keeping keeping = read_keeping(call, fields, streams);
  const Json messages = read_conversation(fields, input, keeping);
  refuse_absent(fields);
  fields.refuse_unless_off("top_logprobs", "log-probabilities are those of /v1/chat/completions");
  check_include(fields);
  fields.accept({"stream_options"});
  accept_idle_fields(fields);
  Json::Object told = repeated(fields, keeping);
  check_unknown(call, fields);
  ChatPrompt prompt = render_chat(call, messages, options);
  request.prompt = std::move(prompt.ids);
  request.fairness_key = fairness_key(call.request.label);
  bound_tokens(model, max_tokens, {}, request);
  apply_reply_plan(call, reply, prompt.text, plan.choices, request);
  plan.prompts.push_back({.request = std::move(request)});
  const std::string id = make_id("resp_");
  auto format =
      make_responses_format(model, id, std::move(told), make_record(call, id, input, keeping));
  return keeping.is_background ? generate_behind(call, id, std::move(plan), std::move(format))
                               : generate(call, std::move(plan), std::move(format), streams);
}

}  // namespace parhelion::app
