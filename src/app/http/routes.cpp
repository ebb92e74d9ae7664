#include "app/http/api_state.h"

#include <array>

namespace parhelion::app {
namespace {

constexpr std::array kRoutes = {
    Route{"GET", "/v1/models", "models", list_models},
    Route{"GET", "/v1/models/", "models", show_model},
    Route{"GET", "/v1/core", "core", show_core},
    Route{"POST", "/v1/chat/completions", "chat", chat_completions},
    Route{"POST", "/v1/completions", "completions", completions},
    Route{"POST", "/v1/responses", "responses", responses},
    Route{"GET", "/v1/responses/", "stored_responses", show_response},
    Route{"DELETE", "/v1/responses/", "stored_responses", delete_response},
    Route{"POST", "/v1/responses/", "stored_responses", cancel_response, Access::key,
          RequestBody::none},
    Route{"POST", "/v1/messages", "messages", messages},
    Route{"POST", "/v1/messages/count_tokens", "count_tokens", count_tokens},
    Route{"POST", "/v1/embeddings", "embeddings", embeddings},
    Route{"POST", "/tokenize", "tokenize", tokenize},
    Route{"POST", "/detokenize", "detokenize", detokenize},
    Route{"POST", "/apply-template", "apply_template", apply_template},
    Route{"GET", "/", "page", show_page, Access::open},
    Route{"GET", "/health/live", "health", health_live, Access::open},
    Route{"GET", "/health/ready", "health", health_ready, Access::open},
    Route{"GET", "/health", "health", health, Access::open},
    Route{"GET", "/metrics", "metrics", show_metrics, Access::open},
    Route{"GET", "/version", "version", show_version, Access::open},
    Route{"POST", "/admin/drain", "admin", admin_drain, Access::admin, RequestBody::none},
    Route{"POST", "/admin/cancel/", "admin", admin_cancel, Access::admin, RequestBody::none},
    Route{"POST", "/admin/cache/reset", "admin", admin_reset_cache, Access::admin,
          RequestBody::none},
    Route{"POST", "/admin/audit", "admin", admin_audit, Access::admin, RequestBody::none},
    Route{"GET", "/admin/trace", "admin", admin_trace, Access::admin},
};

bool matches(const Route& route, std::string_view path) {
  if (route.path.size() > 1 && route.path.ends_with('/'))
    return path.starts_with(route.path) && path != route.path;
  return path == route.path;
}

}  // namespace

const Route* find_route(std::string_view method, std::string_view path, bool& known_path) {
  if (method == "HEAD") method = "GET";  // the connection leaves the body out
  for (const Route& route : kRoutes) {
    if (!matches(route, path)) continue;
    known_path = true;
    if (route.method == method) return &route;
  }
  return nullptr;
}

std::string allowed_methods(std::string_view path) {
  std::string methods;
  for (const Route& route : kRoutes) {
    if (matches(route, path))
      methods += fmt::format("{}{}", methods.empty() ? "" : ", ",
                             route.method == "GET" ? "GET, HEAD" : route.method);
  }
  return methods;
}

}  // namespace parhelion::app
