#include "app/http/api_error.h"

#include "base/json.h"
#include "text/utf8.h"

namespace parhelion::app {
namespace {

std::string_view openai_type(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 404) return "not_found_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string_view anthropic_type(int status) {
  if (status == 413) return "request_too_large";
  if (status == 503) return "overloaded_error";
  return status >= 500 ? "api_error" : openai_type(status);
}

/// Puts `?` for bytes that are no character: a message may have the cut beginning of what a client
/// sent.
void make_well_formed(std::string& text) {
  for (std::size_t at = text::find_invalid_utf8(text); at < text.size();
       at = text::find_invalid_utf8(text))
    text[at] = '?';
}

ApiError exhausted_error(const Error& error) {
  return {.status = 429, .code = "queue_full", .message = error.what()};
}

}  // namespace

void refuse(int status, std::string_view code, std::string message, std::string_view param) {
  throw RefusedRequest({.status = status,
                        .code = std::string(code),
                        .message = std::move(message),
                        .param = std::string(param)});
}

void refuse_value(std::string_view param, std::string message) {
  refuse(400, "invalid_value", std::move(message), param);
}

void refuse_feature(std::string_view param, std::string message) {
  refuse(400, "unsupported_feature", std::move(message), param);
}

ApiError describe(const Error& error, std::string_view incident) {
  if (const auto* refused = dynamic_cast<const RefusedRequest*>(&error)) return refused->error();
  switch (error.kind()) {
    case ErrorKind::invalid:
    case ErrorKind::corrupt:
      return {400, "invalid_value", error.what(), {}};
    case ErrorKind::unsupported:
      return {400, "unsupported_feature", error.what(), {}};
    case ErrorKind::exhausted:
      return exhausted_error(error);
    case ErrorKind::peer:
      return {503, "unavailable", "the server is stopping or has failed", {}};
    case ErrorKind::device:
      return {503, "engine_failed", "the engine has failed", {}};
    case ErrorKind::bug:
      break;
  }
  return {500, "internal_error", fmt::format("an error of the server; incident {}", incident), {}};
}

ApiDialect dialect_of(std::string_view path) {
  return path.starts_with("/v1/messages") ? ApiDialect::anthropic : ApiDialect::openai;
}

std::string error_body(const ApiError& told, ApiDialect dialect, std::string_view request_id) {
  ApiError error = told;
  make_well_formed(error.message);
  make_well_formed(error.param);
  if (dialect == ApiDialect::anthropic) {
    return write_json(Json::Object{
        {"type", "error"},
        {"error", Json::Object{{"type", anthropic_type(error.status)}, {"message", error.message}}},
        {"request_id", request_id}});
  }
  return write_json(Json::Object{
      {"error", Json::Object{{"message", error.message},
                             {"type", openai_type(error.status)},
                             {"param", error.param.empty() ? Json() : Json(error.param)},
                             {"code", error.code}}}});
}

HttpReply error_reply(const ApiError& error, ApiDialect dialect, std::string_view request_id) {
  HttpReply reply{.status = error.status, .body = error_body(error, dialect, request_id)};
  if (error.status == 401) reply.fields.emplace_back("www-authenticate", "Bearer");
  const std::int64_t usual = error.status == 429 ? 1 : error.status == 503 ? 5 : 0;
  const std::int64_t seconds = error.retry_seconds > 0 ? error.retry_seconds : usual;
  if (seconds > 0) reply.fields.emplace_back("retry-after", std::to_string(seconds));
  return reply;
}

}  // namespace parhelion::app
