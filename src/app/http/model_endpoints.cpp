#include "app/http/api_state.h"

#include <algorithm>

namespace parhelion::app {
namespace {

Json model_entry(const ServedModel& model, const std::string& id) {
  return Json::Object{{"id", id},
                      {"object", "model"},
                      {"created", model.created},
                      {"owned_by", "parhelion"},
                      {"max_model_len", model.context_tokens}};
}

bool is_ready(const ApiState& state) {
  return !state.is_draining &&
         state.numeric_failures_in_a_row < state.options.most_numeric_failures &&
         state.server.seconds_since_progress() < state.options.stalled_seconds;
}

HandlerReply plain_reply(std::string body, std::string content_type) {
  return {.reply = {.content_type = std::move(content_type), .body = std::move(body)}};
}

void write_engine(const serve::ServerCounts& counts, std::string& out) {
  const auto gauge = [&out](std::string_view name, std::string_view help, std::int64_t value) {
    write_sample(name, "gauge", help, static_cast<double>(value), out);
  };
  const auto counter = [&out](std::string_view name, std::string_view help, double value) {
    write_sample(name, "counter", help, value, out);
  };
  gauge("requests_running", "Sequences that are generated.", counts.running);
  gauge("requests_waiting", "Sequences that wait for room.", counts.waiting);
  gauge("pool_pages", "Pages of keys and values.", counts.pages_total);
  gauge("pool_pages_free", "Pages that nobody holds.", counts.pages_free);
  gauge("pool_pages_cached", "Pages of prefixes that no sequence holds.", counts.pages_cached);
  const auto whole = [&counter](std::string_view name, std::string_view help, std::int64_t value) {
    counter(name, help, static_cast<double>(value));
  };
  whole("steps_total", "Executions of the model.", counts.steps);
  whole("step_rows_total", "Rows of all steps.", counts.step_rows);
  whole("padded_rows_total", "Room for rows that steps left empty.", counts.padded_rows);
  whole("engine_prompt_tokens_total", "Prompt tokens admitted.", counts.prompt_tokens);
  whole("prefix_hit_tokens_total", "Prompt tokens found in the cache.", counts.cached_tokens);
  whole("drawn_tokens_total", "Tokens drawn.", counts.drawn_tokens);
  whole("discarded_tokens_total", "Tokens drawn in vain.", counts.discarded_tokens);
  whole("preemptions_total", "Sequences put back to wait.", counts.preemptions);
  whole("evicted_pages_total", "Cached pages given up.", counts.evicted_pages);
  whole("numeric_failures_total", "Sequences ended by numbers that are not finite.",
        counts.numeric_failures);
  counter("step_seconds_total", "Time of all steps.", counts.step_seconds);
  counter("host_step_seconds_total", "Time of all steps outside the device.", counts.host_seconds);
}

void write_store(const StoreCounts& counts, std::string& out) {
  write_sample("stored_responses", "gauge", "Responses that are kept.",
               static_cast<double>(counts.responses), out);
  write_sample("stored_response_bytes", "gauge", "Their memory.", static_cast<double>(counts.bytes),
               out);
  write_sample("evicted_responses_total", "counter", "Responses that had to go for others.",
               static_cast<double>(counts.evicted), out);
}

void write_api(const ApiState& state, std::string& out) {
  const Metrics& metrics = state.metrics;
  const auto counter = [&out](std::string_view name, std::string_view help, std::int64_t value) {
    write_sample(name, "counter", help, static_cast<double>(value), out);
  };
  counter("prompt_tokens_total", "Prompt tokens of finished answers.", metrics.prompt_tokens);
  counter("cached_prompt_tokens_total", "Of these, found in the cache.", metrics.cached_tokens);
  counter("generated_tokens_total", "Tokens of finished answers.", metrics.generated_tokens);
  metrics.requests.write("requests_total", "Answers by endpoint and end.", out);
  metrics.errors.write("errors_total", "Errors by code.", out);
  metrics.cancelled.write("cancelled_total", "Answers that were ended, by reason.", out);
  metrics.clamped.write("clamped_params_total", "Values moved into the model's ranges, by field.",
                        out);
  metrics.unknown_fields.write("unknown_fields_total", "Fields passed over, by endpoint.", out);
  counter("malformed_tool_calls_total", "Texts that began like calls.", metrics.malformed_calls);
  counter("log_dropped_lines_total", "Lines for requests that nobody took.",
          state.options.dropped_lines ? state.options.dropped_lines() : 0);
  metrics.ttft.write("ttft_seconds", "From request to first token.", out);
  metrics.inter_token.write("inter_token_seconds", "Between two tokens' events.", out);
  metrics.time_per_output_token.write("time_per_output_token_seconds",
                                      "Mean of an answer's tokens after the first.", out);
  metrics.e2e.write("e2e_seconds", "From request to the answer's end.", out);
  metrics.queue.write("queue_seconds", "From request to admission.", out);
  metrics.tokenise.write("tokenise_seconds", "From text to ids.", out);
  metrics.grammar_compile.write("grammar_compile_seconds", "From a constraint to its automaton.",
                                out);
  counter("grammar_cache_hits_total", "Constraints that were compiled before.",
          state.constraints.hits());
  write_store(state.responses.counts(), out);
  metrics.prompt_length.write("prompt_tokens", "Tokens of a prompt.", out);
  metrics.output_length.write("output_tokens", "Tokens of an answer.", out);
}

}  // namespace

HandlerReply list_models(ApiCall& call) {
  const ServedModel& model = call.state.model;
  Json::Array entries = {model_entry(model, model.id)};
  for (const std::string& alias : model.aliases) entries.push_back(model_entry(model, alias));
  return json_reply(Json::Object{{"object", "list"}, {"data", std::move(entries)}});
}

HandlerReply show_model(ApiCall& call) {
  const ServedModel& model = call.state.model;
  const std::string id = call.request.path.substr(std::string_view("/v1/models/").size());
  const bool is_known =
      id == model.id || std::ranges::find(model.aliases, id) != model.aliases.end();
  if (!is_known)
    refuse(404, "model_not_found",
           fmt::format("the model '{}' is not served here", id.substr(0, 100)), "model");
  return json_reply(model_entry(model, id));
}

HandlerReply show_version(ApiCall& call) {
  return json_reply(Json::Object{{"version", call.state.options.version}});
}

HandlerReply show_metrics(ApiCall& call) {
  std::string out;
  write_sample("ready", "gauge", "Whether requests are answered.", is_ready(call.state) ? 1 : 0,
               out);
  out += fmt::format(
      "# HELP parhelion_build_info The program and the model.\n"
      "# TYPE parhelion_build_info gauge\n"
      "parhelion_build_info{{version=\"{}\",model=\"{}\"}} 1\n",
      call.state.options.version, call.state.model.fingerprint);
  write_engine(call.state.server.counts(), out);
  write_api(call.state, out);
  return plain_reply(std::move(out), "text/plain; version=0.0.4; charset=utf-8");
}

HandlerReply health_live(ApiCall&) { return json_reply(Json::Object{{"status", "live"}}); }

HandlerReply health_ready(ApiCall& call) {
  const bool ready = is_ready(call.state);
  return json_reply(Json::Object{{"status", ready ? "ready" : "not ready"}}, ready ? 200 : 503);
}

HandlerReply health(ApiCall& call) {
  const ApiState& state = call.state;
  const bool ready = is_ready(state);
  const serve::ServerCounts counts = state.server.counts();
  const double uptime = std::chrono::duration<double>(ApiClock::now() - state.begin).count();
  const Json* signature = state.model.facts.find("signature");
  return json_reply(Json::Object{{"status", ready ? "ready" : "not ready"},
                                 {"phase", state.is_draining ? "drain" : "serve"},
                                 {"model", state.model.id},
                                 {"signature", signature == nullptr ? Json() : *signature},
                                 {"uptime_seconds", uptime},
                                 {"seconds_since_progress", state.server.seconds_since_progress()},
                                 {"running", counts.running},
                                 {"waiting", counts.waiting}},
                    ready ? 200 : 503);
}

}  // namespace parhelion::app
