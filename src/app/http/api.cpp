#include "app/http/api_state.h"
#include "app/http/make_id.h"
#include "app/http/request_log.h"
#include "app/http/wire.h"
#include "base/log.h"

#include <algorithm>
#include <new>

namespace parhelion::app {
namespace {

std::string_view key_of(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";  // of any case
  const std::string_view given = request.field("authorization");
  if (same_field(given.substr(0, kBearer.size()), kBearer)) return given.substr(kBearer.size());
  return request.field("x-api-key");
}

bool is_json(std::string_view content_type) {
  constexpr std::string_view kJson = "application/json";
  return same_field(content_type.substr(0, content_type.find(';')), kJson);
}

/// The beginning of what a client sent, where other bytes than visible ASCII are `?`.
std::string printable(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

/// Field of CORS for a page that may ask; nothing for others.
void allow_origin(const ApiOptions& options, const HttpRequest& request, HttpReply& reply) {
  const std::string_view origin = request.field("origin");
  const auto is_allowed = [origin](const std::string& each) {
    return each == "*" || each == origin;
  };
  if (origin.empty() || std::ranges::none_of(options.cors_origins, is_allowed)) return;
  reply.fields.emplace_back("access-control-allow-origin", std::string(origin));
  reply.fields.emplace_back("vary", "origin");
}

HttpReply preflight() {
  HttpReply reply{.status = 204, .content_type = {}};
  reply.fields = {{"access-control-allow-methods", "GET, POST, DELETE"},
                  {"access-control-allow-headers", "*, authorization, content-type, x-api-key"},
                  {"access-control-max-age", "600"}};
  return reply;
}

/// What is wrong with the key of a request; its label is noted.
std::optional<ApiError> key_error(const ApiOptions& options, const Route& route,
                                  HttpRequest& head) {
  const bool is_admin = route.access == Access::admin;
  const Keys& keys = is_admin ? options.admin_keys : options.keys;
  if (is_admin && keys.is_empty())
    return ApiError{403, "forbidden", "this server has no keys for operators", {}};
  if (route.access == Access::open || keys.is_empty()) return std::nullopt;
  const std::string_view given = key_of(head);
  if (const KeyFacts* found = keys.find(given)) {
    head.label = found->label;
    return std::nullopt;
  }
  if (is_admin && !options.keys.is_empty() && options.keys.find(given) != nullptr)
    return ApiError{403, "forbidden", "the key is none for operators", {}};
  return ApiError{401, "invalid_api_key", "the key is missing or wrong", {}};
}

/// What is wrong with a request by its head alone.
std::optional<ApiError> head_error(const ApiState& state, HttpRequest& head, const Route* route,
                                   bool known_path) {
  if (route == nullptr && known_path)
    return ApiError{405,
                    "method_not_allowed",
                    fmt::format("this path does not take {}", head.method.substr(0, 16)),
                    {}};
  if (route == nullptr) return ApiError{404, "not_found", "there is nothing at this path", {}};
  if (auto error = key_error(state.options, *route, head)) return error;
  // Who sends no body may ask while it drains.
  if (head.method != "POST" || route->body == RequestBody::none) return std::nullopt;
  if (head.field("content-length").empty() && head.field("transfer-encoding").empty())
    return ApiError{411, "length_required", "the body's length is not given", {}};
  if (!is_json(head.field("content-type")))
    return ApiError{415, "unsupported_media_type", "the content type is not application/json", {}};
  if (state.is_draining) return ApiError{503, "draining", "the server is about to stop", {}};
  return std::nullopt;
}

/// What an endpoint answers, or the error that it ends with.
HandlerReply answer(ApiCall& call, Endpoint endpoint) {
  ApiError told;
  try {
    return endpoint(call);
  } catch (const Error& error) {
    told = describe(error, call.request.id);
    if (told.status >= 500)
      parhelion::log(LogLevel::error, "request {}: {}", call.request.id, error.what());
  } catch (const std::bad_alloc&) {
    told = {503, "out_of_memory", "memory ran out", {}};
  }
  call.state.metrics.errors.add(fmt::format("code=\"{}\"", told.code));
  return {.reply = error_reply(told, dialect_of(call.request.path), call.request.id)};
}

/// Tells the id by which a request is found in the log, under the names that its clients read.
void name_request(const HttpRequest& request, HttpReply& reply) {
  reply.fields.emplace_back("x-request-id", request.id);
  if (dialect_of(request.path) == ApiDialect::anthropic)
    reply.fields.emplace_back("request-id", request.id);
}

}  // namespace

HandlerReply json_reply(const Json& body, int status) {
  return {.reply = {.status = status, .body = write_json(body)}};
}

void check_model(ApiCall& call, Fields& fields) {
  const std::optional<std::string> name = fields.text("model");
  const ServedModel& model = call.state.model;
  if (!name || *name == model.id || std::ranges::find(model.aliases, *name) != model.aliases.end())
    return;
  refuse(404, "model_not_found",
         fmt::format("the model '{}' is not served here, '{}' is", name->substr(0, 100), model.id),
         "model");
}

void check_unknown(ApiCall& call, const Fields& fields) {
  const std::vector<std::string> names = fields.unknown();
  if (names.empty()) return;
  if (call.state.options.strict_fields)
    refuse(400, "unknown_field", fmt::format("{}: is no known field", names.front().substr(0, 100)),
           names.front().substr(0, 100));
  call.state.metrics.unknown_fields.add(fmt::format("endpoint=\"{}\"", call.endpoint),
                                        static_cast<std::int64_t>(names.size()));
}

Api::Api(ServedModel model, serve::Server& server, ApiOptions options)
    : state_(std::make_unique<ApiState>(std::move(model), server, std::move(options))) {}
Api::~Api() = default;

void Api::drain() { state_->is_draining = true; }
void Api::cancel_all() { state_->tickets.cancel_all(); }
std::int64_t Api::running() const { return state_->tickets.count(); }

std::unique_ptr<HttpReply> Api::refuse_early(HttpRequest& head) {
  head.id = request_id_of(head);
  head.trace_id = trace_id_of(head.field("traceparent"));
  if (head.method == "OPTIONS" && !state_->options.cors_origins.empty()) return nullptr;
  bool known_path = false;
  const Route* route = find_route(head.method, head.path, known_path);
  const auto error = head_error(*state_, head, route, known_path);
  if (!error) return nullptr;
  return std::make_unique<HttpReply>(refuse(error->status, error->code, error->message, head));
}

HttpReply Api::refuse(int status, std::string_view code, std::string_view message,
                      HttpRequest& head) {
  if (head.id.empty()) head.id = request_id_of(head);
  state_->metrics.errors.add(fmt::format("code=\"{}\"", code));
  HttpReply reply = error_reply({status, std::string(code), std::string(message), {}},
                                dialect_of(head.path), head.id);
  name_request(head, reply);
  if (status == 405) reply.fields.emplace_back("allow", allowed_methods(head.path));
  allow_origin(state_->options, head, reply);
  return reply;
}

HandlerReply Api::handle(const HttpRequest& request, std::shared_ptr<Bell> bell) {
  const auto begin = ApiClock::now();
  HandlerReply made;
  if (request.method == "OPTIONS") {
    made.reply = preflight();
  } else {
    bool known_path = false;
    const Route* route = find_route(request.method, request.path, known_path);
    ApiCall call{*state_, request, route->name, bell};
    made = answer(call, route->endpoint);
  }
  const double milliseconds =
      std::chrono::duration<double, std::milli>(ApiClock::now() - begin).count();
  name_request(request, made.reply);
  made.reply.fields.emplace_back("x-processing-ms", fmt::format("{:.2f}", milliseconds));
  allow_origin(state_->options, request, made.reply);
  return made;
}

void Api::finished(const HttpRequest& request, int status, std::int64_t bytes,
                   std::string_view reason) {
  log_request(state_->options, "finished", request,
              {{"method", printable(request.method, 16)},
               {"path", printable(request.path, 200)},
               {"status", status},
               {"sent_bytes", bytes},
               {"end", reason}});
}

}  // namespace parhelion::app
