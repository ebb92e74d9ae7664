#pragma once

#include "app/http/keys.h"
#include "app/http/reply_source.h"
#include "app/http/response_store.h"
#include "app/http/served_model.h"
#include "base/json.h"
#include "serve/request.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::app {

enum class LogFormat : std::uint8_t {
  json,  ///< an object a line
  text,  ///< `name=value` for each member
};

/// What an operator may ask of what is behind the API; an empty one is refused by name.
struct AdminActions {
  std::function<void()> drain = {};        ///< begins to stop, and returns
  std::function<void()> reset_cache = {};  ///< may wait for the engine
  std::function<void()> audit = {};        ///< may wait for the engine; throws what it finds
  std::function<Json()> trace = {};        ///< what the engine did last
};

/// What an operator may set.
struct ApiOptions {
  bool strict_fields = false;  ///< unknown fields are errors, else counted
  Keys keys = {};              ///< empty: everybody may ask
  Keys admin_keys = {};        ///< empty: nobody may use /admin
  AdminActions admin = {};
  std::vector<std::string> cors_origins = {};  ///< pages of these may ask; `*` is any
  std::int64_t body_bytes = 8 << 20;           ///< longest body
  double request_seconds = 0;                  ///< of an answer, and the most it may ask; 0: any
  double stalled_seconds = 30;                 ///< not ready if the engine is silent for longer
  std::int64_t most_numeric_failures = 3;      ///< not ready after so many answers in a row
  std::int64_t joins_from =
      64;  ///< tokens that wait for a slow reader, from which on text is joined
  std::string version = {};
  /// Takes a line when a request is accepted, when its answer is made, and when it was sent.
  /// Threads: any.
  std::function<void(std::string_view)> log = {};
  std::function<std::int64_t()> dropped_lines = {};  ///< that `log` had no room for
  LogFormat log_format = LogFormat::json;
  bool logs_content = false;  ///< prompts and answers
  StoreLimits stored = {};    ///< responses that are kept
};

struct ApiState;

/// The HTTP API over a server: OpenAI's and Anthropic's endpoints, tools, health, metrics.
///
/// Threads: any.
class Api : public HttpHandler {
 public:
  /// `server` outlives all replies.
  Api(ServedModel model, serve::Server& server, ApiOptions options);
  ~Api() override;
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// Refuses what comes from now on, with 503 `draining`.
  void drain();
  /// Cancels all that runs.
  void cancel_all();
  /// Answers that wait for the engine.
  std::int64_t running() const;

  std::unique_ptr<HttpReply> refuse_early(HttpRequest& head) override;
  HandlerReply handle(const HttpRequest& request, std::shared_ptr<Bell> bell) override;
  HttpReply refuse(int status, std::string_view code, std::string_view message,
                   HttpRequest& head) override;
  void finished(const HttpRequest& request, int status, std::int64_t bytes,
                std::string_view reason) override;

 private:
  std::unique_ptr<ApiState> state_;
};

}  // namespace parhelion::app
