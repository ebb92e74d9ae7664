#pragma once

#include "app/http/answer.h"
#include "app/http/api.h"
#include "app/http/background_answers.h"
#include "app/http/constraints.h"
#include "app/http/fields.h"
#include "app/http/generation.h"
#include "app/http/metrics.h"
#include "app/http/quotas.h"
#include "app/http/response_store.h"
#include "app/http/tool_fields.h"
#include "text/template_traits.h"

#include <atomic>
#include <chrono>

namespace parhelion::app {

using ApiClock = std::chrono::steady_clock;

/// What all endpoints share.
struct ApiState {
  ApiState(ServedModel served, serve::Server& serving, ApiOptions set)
      : model(std::move(served)),
        server(serving),
        options(std::move(set)),
        constraints(model.tokenizer),
        tickets(serving),
        responses(options.stored) {
    if (model.chat_template)
      traits = text::probe_template(*model.chat_template, text::prompt_options(model.tokenizer),
                                    model.reply_format.reasoning);
  }

  ServedModel model;
  serve::Server& server;
  ApiOptions options;
  ConstraintCompiler constraints;
  text::TemplateTraits traits = {};  ///< of the chat template
  Quotas quotas = {};
  Metrics metrics = {};
  ActiveTickets tickets;
  std::atomic<bool> is_draining = false;
  std::atomic<std::int64_t> numeric_failures_in_a_row = 0;  ///< answers
  ApiClock::time_point begin = ApiClock::now();
  ResponseStore responses;
  BackgroundAnswers background = {};  ///< goes first, as its answers use the rest
};

/// One request on its way through an endpoint.
struct ApiCall {
  ApiState& state;
  const HttpRequest& request;
  std::string_view endpoint;  ///< as metrics name it
  const std::shared_ptr<Bell>& bell;
};

/// What an endpoint does. Errors: those that the client is told.
using Endpoint = HandlerReply (*)(ApiCall& call);

enum class Access : std::uint8_t {
  key,    ///< with a key, where there are keys
  open,   ///< everybody
  admin,  ///< with a key for operators
};

enum class RequestBody : std::uint8_t {
  json,  ///< of a POST
  none,  ///< nothing is read of one
};

/// A path and who answers there.
struct Route {
  std::string_view method;
  std::string_view path;  ///< one that ends in `/` is a prefix
  std::string_view name;
  Endpoint endpoint = nullptr;
  Access access = Access::key;
  RequestBody body = RequestBody::json;
};
/// The route of a path and method; null if there is none, with `known_path` if another method has.
const Route* find_route(std::string_view method, std::string_view path, bool& known_path);
/// The methods that a path takes, as a field lists them.
std::string allowed_methods(std::string_view path);

HandlerReply admin_drain(ApiCall& call);
HandlerReply admin_cancel(ApiCall& call);
HandlerReply admin_reset_cache(ApiCall& call);
HandlerReply admin_audit(ApiCall& call);
HandlerReply admin_trace(ApiCall& call);
HandlerReply list_models(ApiCall& call);
HandlerReply show_model(ApiCall& call);
HandlerReply show_page(ApiCall& call);
HandlerReply show_core(ApiCall& call);
HandlerReply show_version(ApiCall& call);
HandlerReply show_metrics(ApiCall& call);
HandlerReply health_live(ApiCall& call);
HandlerReply health_ready(ApiCall& call);
HandlerReply health(ApiCall& call);
HandlerReply tokenize(ApiCall& call);
HandlerReply detokenize(ApiCall& call);
HandlerReply apply_template(ApiCall& call);
HandlerReply embeddings(ApiCall& call);
HandlerReply chat_completions(ApiCall& call);
HandlerReply completions(ApiCall& call);
HandlerReply responses(ApiCall& call);
HandlerReply show_response(ApiCall& call);
HandlerReply delete_response(ApiCall& call);
HandlerReply cancel_response(ApiCall& call);
HandlerReply messages(ApiCall& call);
HandlerReply count_tokens(ApiCall& call);

/// A reply at once. `status` is that of the reply.
HandlerReply json_reply(const Json& body, int status = 200);

/// Refuses a model that is not served: 404 `model_not_found`. An absent name is the served one's.
void check_model(ApiCall& call, Fields& fields);
/// Counts or refuses the fields that nobody asked for.
void check_unknown(ApiCall& call, const Fields& fields);

/// What all requests say of their answers: `timeout`, within the server's.
AnswerOptions read_answer_options(ApiCall& call, Fields& fields);

/// Answers by generating. Errors: as Generation.
HandlerReply generate(ApiCall& call, GenerationPlan plan, std::unique_ptr<AnswerFormat> format,
                      bool streams);

/// How a reply is read and what it is held to.
struct ReplyPlan {
  Tools tools = {};
  Constraint constraint = {};
  std::optional<std::int64_t> thinking_tokens = {};
  std::vector<std::vector<std::int32_t>> bad_words = {};  ///< of several ids
};
/// Fits a prompt and its choices to a plan: formats that the reader looks for, ports of the engine.
///
/// Errors: as ConstraintCompiler::compile.
void apply_reply_plan(ApiCall& call, const ReplyPlan& plan, std::string_view prompt,
                      ChoiceOptions& choices, serve::Request& request);

/// A conversation in the model's template.
struct ChatPrompt {
  std::string text;
  std::vector<std::int32_t> ids;
};
/// How a conversation becomes a prompt.
struct PromptOptions {
  text::ChatOptions chat = {};
  bool continues_last = false;                   ///< the last message is the beginning of the reply
  std::optional<std::int64_t> most_tokens = {};  ///< the last ones are kept
};
/// Passes how much to think on by whichever variable the template has for it.
void set_effort(const std::string& effort, const ServedModel& model, text::ChatOptions& options);
/// Errors: 400 `invalid_messages` if the template refuses the conversation, or does not show the
///         message that is to be continued.
ChatPrompt render_chat(ApiCall& call, const Json& messages, const PromptOptions& options);
/// The field `truncate_prompt_tokens`.
std::optional<std::int64_t> read_prompt_limit(Fields& fields);
/// Drops ids from the front until `most` are left.
void truncate_prompt(std::optional<std::int64_t> most, std::vector<std::int32_t>& ids);
/// The ids of a text as a prompt.
std::vector<std::int32_t> encode_prompt(ApiCall& call, std::string_view text,
                                        const text::EncodeOptions& options);
/// The conversation of an OpenAI request, as templates take it.
Json read_messages(Fields& fields);
/// The conversation of an Anthropic request: system and messages.
Json read_anthropic(Fields& fields);
/// What a template is told beside the conversation.
PromptOptions read_prompt_options(Fields& fields, const ServedModel& model);
/// Arguments of a call, which are JSON in a string, as templates take them.
Json template_arguments(const Json& given);

}  // namespace parhelion::app
