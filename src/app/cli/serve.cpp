#include "app/cli/command.h"
#include "app/cli/effective_options.h"
#include "app/cli/line_writer.h"
#include "app/cli/serve_admin.h"
#include "app/cli/stage_limit.h"
#include "app/cli/stop_signals.h"
#include "app/cli/trust_options.h"
#include "app/http/api.h"
#include "app/http/http_server.h"
#include "app/http/loading_gate.h"
#include "app/http/request_log.h"
#include "app/model_files.h"
#include "app/served_engine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>

namespace parhelion::app {
namespace {

using Clock = std::chrono::steady_clock;

struct ServeOptions {
  RunOptions run;
  ServingChoice serving;
  TrustOptions trust;
  HttpOptions http;
  std::filesystem::path config;
  std::filesystem::path keys;
  std::filesystem::path admin_keys;
  std::vector<std::string> aliases;
  std::vector<std::string> cors_origins;
  bool strict_fields = false;
  bool no_prefix_cache = false;
  bool quiet = false;
  std::string version;
  double drain_seconds = 60;
  double request_seconds = 0;
  std::string log_format = "json";
  std::string log_level = "info";
  bool logs_content = false;
  StoreLimits stored;
};

LogFormat log_format(const ServeOptions& options) {
  return options.log_format == "text" ? LogFormat::text : LogFormat::json;
}

ApiOptions api_options(const ServeOptions& options, LineWriter& lines) {
  ApiOptions api{.strict_fields = options.strict_fields};
  if (!options.keys.empty()) api.keys = Keys(read_file(options.keys, 1 << 20));
  if (!options.admin_keys.empty()) api.admin_keys = Keys(read_file(options.admin_keys, 1 << 20));
  api.cors_origins = options.cors_origins;
  api.version = options.version;
  api.request_seconds = options.request_seconds;
  if (!options.quiet) api.log = [&lines](std::string_view line) { lines.write(line); };
  api.dropped_lines = [&lines] { return lines.dropped_lines(); };
  api.log_format = log_format(options);
  api.logs_content = options.logs_content;
  api.stored = options.stored;
  return api;
}

std::string part_times(const ServedEngine& engine) {
  std::string text;
  for (const auto& [part, seconds] : engine.start_parts)
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", part, seconds);
  return text;
}

/// Everything of a server. What is below goes first.
struct ServingParts {
  std::future<ServedEngine> loading;  // waits for the load where it goes
  std::optional<ServedEngine> engine;
  std::unique_ptr<Api> api;
  std::unique_ptr<LoadingGate> gate;
  std::unique_ptr<HttpServer> server;
};

constexpr std::chrono::seconds kGrace{2};         // for the last bytes of what was cancelled
constexpr std::chrono::seconds kCloseLimit{10};   // of connections
constexpr std::chrono::seconds kEngineLimit{30};  // of its last step and its memory

/// Lets what runs end, within `limit` or until another signal; then ends it. `asked`: the drain was
/// asked for through the API; the first signal then asks for what is under way.
void drain(ServingParts& parts, StopSignals& signals, double limit, bool asked) {
  Api& api = *parts.api;
  HttpServer& server = *parts.server;
  api.drain();
  server.drain();
  log(LogLevel::info, "draining: {} answers at work", api.running());
  const auto end = Clock::now() + std::chrono::duration<double>(limit);
  while (server.connections() > 0 && Clock::now() < end) {
    if (signals.comes_within(std::chrono::milliseconds(20)) && !std::exchange(asked, false)) break;
  }
  if (api.running() > 0) log(LogLevel::warning, "ending {} answers", api.running());
  parts.engine->engine->drain();  // nothing new beside what is cancelled
  api.cancel_all();
  const auto grace = Clock::now() + kGrace;
  while (server.connections() > 0 && Clock::now() < grace)
    signals.comes_within(std::chrono::milliseconds(20));
}

/// Loads the model while the gate answers. False: a signal came before it was done.
bool load(ServingParts& parts, const ServeOptions& options, StopSignals& signals,
          const std::function<void(std::string_view)>& on_failure) {
  // Its own copies: a signal may end this function before the thread has begun.
  parts.loading = std::async(std::launch::async, [serving = options.serving, on_failure] {
    return start_engine(serving, on_failure);
  });
  while (parts.loading.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (signals.comes_within(std::chrono::milliseconds(5))) return false;
  }
  parts.engine.emplace(parts.loading.get());
  return true;
}

/// Ends the process beside a load, which nothing can interrupt: memory goes with the process, and
/// what files it writes are whole or not there.
[[noreturn]] void leave_load(ServingParts& parts, int exit_code) {
  parts.gate->give_up();
  parts.server->drain();
  const StageLimit stage("close connections", kCloseLimit);
  parts.server.reset();
  log(LogLevel::info, "stopped while the model was loading");
  std::_Exit(exit_code);
}

/// Takes all apart; a part that cannot be ends the process with kOverrunExit.
void stop(ServingParts& parts) {
  std::optional<StageLimit> stage;
  stage.emplace("close connections", kCloseLimit);
  parts.server.reset();
  stage.emplace("stop the engine", kEngineLimit);
  parts.api.reset();
  parts.engine.reset();
}

void run_serve(ServeOptions& options, const std::string& effective) {
  const auto begin = Clock::now();
  std::signal(SIGPIPE, SIG_IGN);  // a reader of the lines that goes away
  set_log_level(*log_level_named(options.log_level));
  StopSignals signals;
  LineWriter lines(STDERR_FILENO, [format = log_format(options)](std::int64_t dropped) {
    return dropped_line(format, dropped);
  });
  ApiOptions api_settings = api_options(options, lines);
  std::atomic<bool> has_failed = false;
  std::atomic<bool> asked_to_drain = false;
  ServingParts parts;
  parts.gate = std::make_unique<LoadingGate>(options.version);
  parts.server = std::make_unique<HttpServer>(options.http, *parts.gate);
  print(fmt::format("{}listening at {}:{}, loading {}\n", effective, options.http.host,
                    parts.server->port(), options.serving.model.string()));
  const auto on_failure = [&has_failed](std::string_view why) {
    log(LogLevel::error, "the engine has ended: {}", why);
    has_failed = true;
    ::kill(::getpid(), SIGTERM);
  };
  if (!load(parts, options, signals, on_failure)) leave_load(parts, has_failed ? 1 : 0);
  parts.engine->model.aliases = options.aliases;
  const ServedModel& model = parts.engine->model;
  api_settings.admin = admin_actions(*parts.engine->engine, [&asked_to_drain] {
    asked_to_drain = true;
    ::kill(::getpid(), SIGTERM);
  });
  parts.api = std::make_unique<Api>(model, *parts.engine->engine, std::move(api_settings));
  parts.gate->open(*parts.api);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  print(
      fmt::format("serving {} at http://{}:{}: contexts of {} tokens, a cache of {} tokens, "
                  "ready after {:.2f} s ({})\n",
                  model.id, options.http.host, parts.server->port(), model.context_tokens,
                  parts.engine->cache_tokens, seconds, part_times(*parts.engine)));
  signals.wait();
  drain(parts, signals, has_failed ? 0 : options.drain_seconds, asked_to_drain);
  if (has_failed) log_recent_steps(*parts.engine->engine);
  stop(parts);
  ensure(!has_failed, ErrorKind::device, "serve: the engine has failed");
}

void add_engine_options(CLI::App& command, ServingChoice& choice) {
  command
      .add_option("--max-rows", choice.rows,
                  "sequences that are generated at a time; 0 = 16, or those of a core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command
      .add_option("--step-tokens", choice.step_tokens,
                  "most tokens of one step; 0 = 512, or those of a core")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      .add_option(
          "--context", choice.context_tokens,
          "the longest sequence in tokens; 0 = a core's, or a model's, of that at most 8192")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  command
      .add_option("--cache-tokens", choice.cache_tokens,
                  "tokens that all sequences and kept prefixes share; 0 = 2048 for each row, at "
                  "least one context")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  command.add_option("--queue", choice.queue, "sequences that may wait")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--step-seconds", choice.step_seconds,
                  "aimed time of a step that has prompts beside answers")
      ->check(CLI::Range(0.001, 60.0))
      ->capture_default_str();
  command
      .add_option("--warm-seconds", choice.warm_seconds,
                  "most time to run steps of every size before the first request; -1 = 0.1 on a "
                  "processor, 60 on a GPU")
      ->check(CLI::Range(-1.0, 3600.0))
      ->capture_default_str();
  command.add_flag(
      "--grow", choice.grows,
      "admit more: take room as answers grow; the last admitted may have to wait again");
  add_embedding_options(command, choice.embeddings);
  command.add_option("--served-name", choice.name,
                     "clients' name of the model; its file's if absent");
}

void add_http_options(CLI::App& command, ServeOptions& options) {
  command.add_option("--host", options.http.host, "address to listen at")->capture_default_str();
  options.http.port = 8000;
  command.add_option("--port", options.http.port, "port to listen at; 0 = any free one")
      ->capture_default_str();
  options.http.threads = 2;
  command.add_option("--http-threads", options.http.threads, "threads that answer")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command.add_option("--max-connections", options.http.limits.connections, "connections at a time")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--max-body", options.http.limits.body_bytes, "bytes of a request's body")
      ->check(CLI::Range(1 << 10, 1 << 30))
      ->capture_default_str();
  command.add_option("--keys", options.keys, "file of the keys that clients need, one a line");
  command.add_option("--admin-keys", options.admin_keys,
                     "file of the keys that /admin needs; closed without");
  command.add_option("--alias", options.aliases, "another name of the model");
  command.add_option("--cors-origin", options.cors_origins,
                     "origin whose pages may ask, such as https://chat.example; * = any");
  command
      .add_option("--request-timeout", options.request_seconds,
                  "seconds an answer may take, from its request to its end; 0 = any")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command
      .add_option("--stored-responses", options.stored.responses,
                  "responses that are kept in memory for clients who ask for it; 0 = none")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command.add_option("--stored-bytes", options.stored.bytes, "most bytes of these")
      ->check(CLI::Range(std::int64_t{1} << 16, std::int64_t{1} << 40))
      ->capture_default_str();
  command
      .add_option("--drain-timeout", options.drain_seconds,
                  "seconds that answers have to end after SIGTERM")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
}

}  // namespace

void add_serve(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  options->version = app.version();
  options->run.executor.numerics = "invariant";
  CLI::App* command =
      app.add_subcommand("serve", "Answer OpenAI's and Anthropic's clients over HTTP");
  add_core_options(*command, options->run, options->trust);
  add_engine_options(*command, options->serving);
  add_http_options(*command, *options);
  command->add_flag("--no-prefix-cache", options->no_prefix_cache,
                    "forget prompts: no answer begins with what another has computed");
  command->add_flag("--strict-fields", options->strict_fields,
                    "refuse requests with fields that are not known");
  command->add_flag("--quiet", options->quiet, "no lines for requests");
  command->add_option("--log-format", options->log_format, "lines for requests: json or text")
      ->check(CLI::IsMember({"json", "text"}))
      ->capture_default_str();
  command->add_option("--log-level", options->log_level, "least level of lines about the server")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  command->add_flag("--log-content", options->logs_content,
                    "write prompts and answers into the lines for requests");
  command->add_option("--config", options->config, "TOML file with options; - in names is _");
  command->callback([options, command] {
    const std::set<std::string> from_file = read_option_file(*command, options->config);
    ServingChoice& serving = options->serving;
    options->run.model = resolve_model(options->run.model);
    take_core_options(*command, options->run, options->trust, serving);
    serving.shares_prefixes = !options->no_prefix_cache;
    run_serve(*options, print_options(*command, from_file));
  });
}

}  // namespace parhelion::app
