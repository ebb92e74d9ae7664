#include "app/http/api_state.h"
#include "app/http/make_id.h"
#include "app/http/openai_format.h"
#include "app/http/sampling_fields.h"

#include <ctime>

namespace parhelion::app {
namespace {

constexpr std::int64_t kUsualCompletion = 16;  // tokens, where a request does not say
constexpr std::int64_t kMostPrompts = 128;

bool read_include_usage(Fields& fields, bool streams) {
  const Json* options = fields.find("stream_options");
  if (options == nullptr) return false;
  if (!streams || !options->is_object())
    refuse_value("stream_options", "stream_options: expected an object, and stream to be true");
  const Json* include = options->find("include_usage");
  return include != nullptr && include->is_bool() && include->as_bool("stream_options");
}

OpenAiAnswer make_answer(std::string_view prefix, bool logs, bool include_usage) {
  return {.id = make_id(prefix),
          .created = std::time(nullptr),
          .include_usage = include_usage,
          .logs = logs};
}

/// The chat endpoint's `logprobs` and `top_logprobs`.
bool read_chat_logs(Fields& fields, serve::Request& request) {
  const bool logs = fields.boolean("logprobs", false);
  request.top_tokens = fields.integer("top_logprobs", 0, serve::kMostTopTokens).value_or(0);
  if (request.top_tokens > 0 && !logs)
    refuse_value("top_logprobs", "top_logprobs: is given, expected logprobs to be true");
  return logs;
}

void refuse_chat_extras(Fields& fields) {
  fields.refuse_unless_off("audio", "audio is not supported");
  fields.refuse_unless_off("web_search_options", "searching is not supported");
  fields.refuse_unless_off("prediction", "predicted outputs are not supported");
  fields.refuse_unless_off("store", "answers are not stored");
}

/// A prompt of /v1/completions: its text for an echo, and its ids.
struct CompletionPrompt {
  std::string text;
  std::vector<std::int32_t> ids;
};

CompletionPrompt text_prompt(ApiCall& call, const std::string& text) {
  const bool adds_bos = call.state.model.tokenizer.adds_bos();
  CompletionPrompt prompt;
  prompt.text = text;
  prompt.ids =
      encode_prompt(call, text, {.frame = adds_bos ? text::Frame::bos : text::Frame::none});
  return prompt;
}

CompletionPrompt id_prompt(ApiCall& call, const Json& ids) {
  CompletionPrompt prompt;
  prompt.ids = read_ids(ids, "prompt", 1 << 22);
  prompt.text = call.state.model.tokenizer.decode(prompt.ids);
  return prompt;
}

/// One string, strings, ids, or lists of ids.
std::vector<CompletionPrompt> read_prompts(ApiCall& call, Fields& fields) {
  const Json* prompt = fields.find("prompt");
  if (prompt == nullptr) refuse_value("prompt", "prompt: is missing");
  if (prompt->is_string()) return {text_prompt(call, prompt->as_string("prompt"))};
  if (!prompt->is_array() || prompt->as_array("prompt").empty())
    refuse_value("prompt", "prompt: expected a string, strings, ids or lists of ids");
  const Json::Array& items = prompt->as_array("prompt");
  if (items.front().is_number()) return {id_prompt(call, *prompt)};
  if (static_cast<std::int64_t>(items.size()) > kMostPrompts)
    refuse_value("prompt", fmt::format("prompt: has {} prompts, expected at most {}", items.size(),
                                       kMostPrompts));
  std::vector<CompletionPrompt> prompts;
  for (const Json& item : items) {
    if (item.is_string() != items.front().is_string())
      refuse_value("prompt", "prompt: mixes strings and lists of ids");
    prompts.push_back(item.is_string() ? text_prompt(call, item.as_string("prompt"))
                                       : id_prompt(call, item));
  }
  return prompts;
}

PlannedPrompt plan_completion(const ServedModel& model, const CompletionPrompt& prompt,
                              const serve::Request& request, std::optional<std::int64_t> max_tokens,
                              bool echo) {
  PlannedPrompt planned{.request = request};
  planned.request.prompt = prompt.ids;
  bound_tokens(model, max_tokens, kUsualCompletion, planned.request);
  if (echo) planned.echo.text = prompt.text;
  if (request.prompt_log_probabilities && !prompt.ids.empty())
    planned.echo.first_id = prompt.ids.front();
  return planned;
}

}  // namespace

HandlerReply chat_completions(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const ServedModel& model = call.state.model;
  const Json messages = read_messages(fields);
  serve::Request request;
  read_sampling(fields, model, request);
  refuse_chat_extras(fields);
  const bool logs = read_chat_logs(fields, request);
  GenerationPlan plan;
  plan.answer = read_answer_options(call, fields);
  plan.choices = read_choice_options(fields, model, "stop");
  plan.choices.logs = logs;
  const bool streams = fields.boolean("stream", false);
  const bool include_usage = read_include_usage(fields, streams);
  const auto max_tokens = read_max_tokens(fields);
  ReplyPlan reply;
  reply.tools = read_chat_tools(fields, model);
  reply.constraint = read_constraint(fields);
  reply.thinking_tokens = read_thinking_budget(fields);
  text::ChatOptions options = read_template_options(fields, model);
  if (reply.tools.is_offered()) options.tools = reply.tools.list;
  accept_idle_fields(fields);
  check_unknown(call, fields);
  ChatPrompt prompt = render_chat(call, messages, options);
  request.prompt = std::move(prompt.ids);
  request.fairness_key = fairness_key(call.request.label);
  bound_tokens(model, max_tokens, {}, request);
  auto format =
      make_chat_format(model, make_answer("chatcmpl-", logs, include_usage), request.sequences);
  apply_reply_plan(call, reply, prompt.text, plan.choices, request);
  plan.prompts.push_back({.request = std::move(request)});
  return generate(call, std::move(plan), std::move(format), streams);
}

HandlerReply completions(ApiCall& call) {
  Fields fields(call.request.body);
  check_model(call, fields);
  const ServedModel& model = call.state.model;
  serve::Request request;
  read_sampling(fields, model, request);
  GenerationPlan plan;
  plan.answer = read_answer_options(call, fields);
  plan.choices = read_choice_options(fields, model, "stop");
  const auto logs = fields.integer("logprobs", 0, serve::kMostTopTokens);
  const bool streams = fields.boolean("stream", false);
  const bool include_usage = read_include_usage(fields, streams);
  const bool echo = fields.boolean("echo", false);
  const bool scores = echo && logs.has_value();  // then nothing need be drawn
  const auto max_tokens = fields.integer("max_tokens", scores ? 0 : 1, INT32_MAX);
  const std::int64_t shown = request.sequences;
  request.sequences = fields.integer("best_of", shown, model.most_sequences).value_or(shown);
  if (streams && request.sequences != shown)
    refuse_value("best_of", "best_of: cannot choose among answers that are streamed");
  fields.refuse_unless_off("suffix", "the model fills no gaps");
  ReplyPlan reply;
  reply.constraint = read_constraint(fields);
  accept_idle_fields(fields);
  const std::vector<CompletionPrompt> prompts = read_prompts(call, fields);
  check_unknown(call, fields);

  request.top_tokens = logs.value_or(0);
  request.prompt_log_probabilities = scores;
  request.fairness_key = fairness_key(call.request.label);
  apply_reply_plan(call, reply, {}, plan.choices, request);
  plan.choices.logs = logs.has_value() || request.sequences != shown;
  for (const CompletionPrompt& prompt : prompts)
    plan.prompts.push_back(plan_completion(model, prompt, request, max_tokens, echo));
  auto format = make_completion_format(
      model, make_answer("cmpl-", logs.has_value(), include_usage),
      {.prompts = std::ssize(prompts), .sampled = request.sequences, .shown = shown});
  return generate(call, std::move(plan), std::move(format), streams);
}

}  // namespace parhelion::app
