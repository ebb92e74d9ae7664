#include "app/http/api_state.h"
#include "app/http/effective_sampling.h"
#include "app/http/json_text.h"
#include "app/http/make_id.h"
#include "app/http/openai_format.h"
#include "app/http/sampling_fields.h"

#include <fmt/ranges.h>

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

/// What a request asks to be shown beside the text.
void read_shown(Fields& fields, GenerationPlan& plan) {
  plan.choices.ids = fields.boolean("return_token_ids", false);
  plan.answer.shows_sampling = fields.boolean("return_effective_sampling", false);
  const auto mode = fields.text("logprobs_mode");
  if (!mode || *mode == "raw") return;
  if (*mode != "processed") refuse_value("logprobs_mode", "logprobs_mode: expected raw");
  refuse_feature("logprobs_mode", "logprobs_mode: only the model's own distribution is known");
}

/// Ids of the prompts: one list, or a list for each of several.
std::string prompt_ids(const std::vector<PlannedPrompt>& prompts) {
  if (prompts.size() == 1) return json_ids(prompts.front().request.prompt);
  std::vector<std::string> lists;
  for (const PlannedPrompt& each : prompts) lists.push_back(json_ids(each.request.prompt));
  return fmt::format("[{}]", fmt::join(lists, ","));
}

/// `plan` is ready but for its choices.
OpenAiAnswer make_answer(const ServedModel& model, std::string_view prefix,
                         const GenerationPlan& plan) {
  OpenAiAnswer answer;
  answer.id = make_id(prefix);
  answer.created = std::time(nullptr);
  answer.logs = plan.choices.logs;
  answer.ids = plan.choices.ids;
  if (answer.ids) answer.extra += ",\"prompt_token_ids\":" + prompt_ids(plan.prompts);
  if (!plan.answer.shows_sampling) return answer;
  const auto sampling = describe_sampling(model.sampling, plan.prompts.front().request);
  answer.extra += ",\"effective_sampling\":" + write_json(sampling_json(sampling));
  return answer;
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

/// Cuts prompts, and their texts with them.
void truncate_prompts(std::optional<std::int64_t> most, const ServedModel& model,
                      std::vector<CompletionPrompt>& prompts) {
  for (CompletionPrompt& prompt : prompts) {
    if (!most || std::ssize(prompt.ids) <= *most) continue;
    truncate_prompt(most, prompt.ids);
    prompt.text = model.tokenizer.decode(prompt.ids);
  }
}

std::int64_t read_best_of(Fields& fields, const ServedModel& model, std::int64_t shown,
                          bool streams) {
  const auto sampled = fields.integer("best_of", shown, model.most_sequences).value_or(shown);
  if (streams && sampled != shown)
    refuse_value("best_of", "best_of: cannot choose among answers that are streamed");
  return sampled;
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
  read_shown(fields, plan);
  const bool streams = fields.boolean("stream", false);
  const bool include_usage = read_include_usage(fields, streams);
  const auto max_tokens = read_max_tokens(fields);
  ReplyPlan reply;
  reply.bad_words = read_bad_words(fields, model, request);
  reply.tools = read_chat_tools(fields, model);
  reply.constraint = read_constraint(fields);
  reply.thinking_tokens = read_thinking_budget(fields);
  PromptOptions options = read_prompt_options(fields, model);
  if (reply.tools.is_offered()) options.chat.tools = reply.tools.list;
  accept_idle_fields(fields);
  check_unknown(call, fields);
  ChatPrompt prompt = render_chat(call, messages, options);
  request.prompt = std::move(prompt.ids);
  request.fairness_key = fairness_key(call.request.label);
  bound_tokens(model, max_tokens, {}, request);
  apply_reply_plan(call, reply, prompt.text, plan.choices, request);
  const std::int64_t choices = request.sequences;
  plan.prompts.push_back({.request = std::move(request)});
  OpenAiAnswer answer = make_answer(model, "chatcmpl-", plan);
  answer.include_usage = include_usage;
  auto format = make_chat_format(model, std::move(answer), choices);
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
  read_shown(fields, plan);
  const auto logs = fields.integer("logprobs", 0, serve::kMostTopTokens);
  const bool streams = fields.boolean("stream", false);
  const bool include_usage = read_include_usage(fields, streams);
  const bool echo = fields.boolean("echo", false);
  const bool scores = echo && logs.has_value();  // then nothing need be drawn
  const auto max_tokens = fields.integer("max_tokens", scores ? 0 : 1, INT32_MAX);
  const std::int64_t shown = request.sequences;
  request.sequences = read_best_of(fields, model, shown, streams);
  fields.refuse_unless_off("suffix", "the model fills no gaps");
  ReplyPlan reply;
  reply.bad_words = read_bad_words(fields, model, request);
  reply.constraint = read_constraint(fields);
  accept_idle_fields(fields);
  std::vector<CompletionPrompt> prompts = read_prompts(call, fields);
  truncate_prompts(read_prompt_limit(fields), model, prompts);
  check_unknown(call, fields);

  request.top_tokens = logs.value_or(0);
  request.prompt_log_probabilities = scores;
  request.fairness_key = fairness_key(call.request.label);
  apply_reply_plan(call, reply, {}, plan.choices, request);
  plan.choices.logs = logs.has_value() || request.sequences != shown;
  for (const CompletionPrompt& prompt : prompts)
    plan.prompts.push_back(plan_completion(model, prompt, request, max_tokens, echo));
  OpenAiAnswer answer = make_answer(model, "cmpl-", plan);
  answer.include_usage = include_usage;
  answer.logs = logs.has_value();
  auto format = make_completion_format(
      model, std::move(answer),
      {.prompts = std::ssize(prompts), .sampled = request.sequences, .shown = shown});
  return generate(call, std::move(plan), std::move(format), streams);
}

}  // namespace parhelion::app
