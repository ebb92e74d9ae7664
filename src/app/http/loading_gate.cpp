#include "app/http/loading_gate.h"

#include "app/http/api_error.h"
#include "app/http/make_id.h"
#include "app/http/metrics.h"
#include "app/http/wire.h"

namespace parhelion::app {

/// What is said while there is no API.
HttpReply LoadingGate::closed_reply(const HttpRequest& head) const {
  if (head.path == "/health/live") return {.body = write_json(Json::Object{{"status", "live"}})};
  if (head.path == "/version") return {.body = write_json(Json::Object{{"version", version_}})};
  if (head.path == "/metrics") {
    HttpReply reply{.content_type = "text/plain; version=0.0.4; charset=utf-8"};
    write_sample("ready", "gauge", "Whether requests are answered.", 0, reply.body);
    return reply;
  }
  const std::string_view phase = is_stopping_ ? "drain" : "load";
  if (head.path == "/health" || head.path == "/health/ready") {
    const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - begin_;
    HttpReply reply{.status = 503};
    reply.body = write_json(Json::Object{
        {"status", "not ready"}, {"phase", phase}, {"uptime_seconds", uptime.count()}});
    reply.fields.emplace_back("retry-after", "5");
    return reply;
  }
  const ApiError error = is_stopping_ ? ApiError{503, "draining", "the server is about to stop", {}}
                                      : ApiError{503, "loading", "the model is being loaded", {}};
  return error_reply(error, dialect_of(head.path), head.id);
}

std::unique_ptr<HttpReply> LoadingGate::refuse_early(HttpRequest& head) {
  if (Api* api = api_) return api->refuse_early(head);
  head.id = request_id_of(head);
  auto reply = std::make_unique<HttpReply>(closed_reply(head));
  reply->fields.emplace_back("x-request-id", head.id);
  return reply;
}

// Only requests that an API has let through come here.
HandlerReply LoadingGate::handle(const HttpRequest& request, std::shared_ptr<Bell> bell) {
  Api* api = api_;
  ensure(api != nullptr, ErrorKind::bug, "loading gate: a request came through while it is closed");
  return api->handle(request, std::move(bell));
}

HttpReply LoadingGate::refuse(int status, std::string_view code, std::string_view message,
                              HttpRequest& head) {
  if (Api* api = api_) return api->refuse(status, code, message, head);
  head.id = request_id_of(head);
  HttpReply reply = error_reply({status, std::string(code), std::string(message), {}},
                                dialect_of(head.path), head.id);
  reply.fields.emplace_back("x-request-id", head.id);
  return reply;
}

void LoadingGate::finished(const HttpRequest& request, int status, std::int64_t bytes,
                           std::string_view reason) {
  if (Api* api = api_) api->finished(request, status, bytes, reason);
}

}  // namespace parhelion::app
