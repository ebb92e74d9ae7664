#include "app/http/api_state.h"
#include "app/http/effective_sampling.h"
#include "app/http/request_log.h"

#include <algorithm>

namespace parhelion::app {
namespace {

double seconds_since(ApiClock::time_point begin) {
  return std::chrono::duration<double>(ApiClock::now() - begin).count();
}

ApiClock::time_point deadline_of(const GenerationPlan& plan) {
  if (!plan.answer.time) return ApiClock::time_point::max();
  return ApiClock::now() + std::chrono::duration_cast<ApiClock::duration>(*plan.answer.time);
}

bool is_failure(const Delta& delta) {
  return delta.kind == DeltaKind::finish && delta.end >= ChoiceEnd::cancelled;
}

ApiError failure_of(ChoiceEnd end, std::string_view incident) {
  if (end == ChoiceEnd::numeric_failure) {
    return {500,
            "numeric_failure",
            fmt::format("the model's numbers are not finite; incident {}", incident),
            {}};
  }
  if (end == ChoiceEnd::no_allowed_token)
    return {400,
            "no_allowed_token",
            "the request's constraints leave no token to draw: its grammar or allowed ids, without "
            "its bad ones",
            {}};
  if (end == ChoiceEnd::rules_failed)
    return {400,
            "schema_too_complex",
            "the grammar of the answer can be read in more ways than are followed at a time",
            {}};
  if (end == ChoiceEnd::cancelled) return {503, "cancelled", "the server ended the request", {}};
  return {503, "engine_failed", "the engine has ended", {}};
}

std::string_view end_name(ChoiceEnd end) {
  switch (end) {
    case ChoiceEnd::stop:
    case ChoiceEnd::stop_string:
      return "stop";
    case ChoiceEnd::length:
      return "length";
    case ChoiceEnd::tool_calls:
      return "tool_calls";
    case ChoiceEnd::cancelled:
      return "cancelled";
    case ChoiceEnd::numeric_failure:
    case ChoiceEnd::no_allowed_token:
    case ChoiceEnd::rules_failed:
    case ChoiceEnd::failed:
      break;
  }
  return "error";
}

/// What an answer may need of its key's limits. Errors: as Quotas::take.
std::unique_ptr<Quotas::Lease> take_lease(ApiCall& call, const GenerationPlan& plan) {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
  for (const PlannedPrompt& each : plan.prompts) {
    sequences += each.request.sequences;
    tokens += std::ssize(each.request.prompt) + each.request.sequences * each.request.max_tokens;
  }
  return call.state.quotas.take(call.state.options.keys.of(call.request.label), sequences, tokens);
}

/// No request goes before what its key may ask for.
void bound_priority(const ApiCall& call, GenerationPlan& plan) {
  const auto best =
      static_cast<int>(call.state.options.keys.of(call.request.label).limits.priority);
  for (PlannedPrompt& each : plan.prompts)
    each.request.priority = std::max(each.request.priority, best);
}

/// What the log tells of a request that is about to be taken; values outside the model's ranges are
/// counted.
Json::Object accepted_line(ApiCall& call, const GenerationPlan& plan, bool streams) {
  const ServedModel& model = call.state.model;
  const serve::Request& first = plan.prompts.front().request;
  const EffectiveSampling sampling = describe_sampling(model.sampling, first);
  for (const std::string_view name : sampling.clamped)
    call.state.metrics.clamped.add(fmt::format("param=\"{}\"", name));
  std::int64_t tokens = 0;
  for (const PlannedPrompt& each : plan.prompts) tokens += std::ssize(each.request.prompt);
  Json::Object line = {{"endpoint", call.endpoint},           {"stream", streams},
                       {"prompts", std::ssize(plan.prompts)}, {"prompt_tokens", tokens},
                       {"sequences", first.sequences},        {"priority", first.priority},
                       {"sampling", sampling_json(sampling)}};
  if (call.state.options.logs_content)
    line.emplace_back("prompt", model.tokenizer.decode(first.prompt));
  return line;
}

/// Writes what comes of a generation, in one of the protocols.
class GenerationSource : public ReplySource {
 public:
  GenerationSource(ApiCall& call, GenerationPlan plan, std::unique_ptr<AnswerFormat> format,
                   bool streams)
      : state_(call.state),
        endpoint_(call.endpoint),
        dialect_(dialect_of(call.request.path)),
        request_(head_of(call.request)),
        format_(std::move(format)),
        streams_(streams),
        deadline_(deadline_of(plan)),
        lease_(take_lease(call, plan)),
        generation_(call.state.model, call.state.tickets, std::move(plan), call.bell) {}

  Pull pull(HttpReply& reply) override {
    deltas_.clear();
    generation_.read(deltas_);
    if (generation_.error() != nullptr) return pull_refused(reply);
    observe_tokens();
    for (const Delta& delta : deltas_) {
      if (delta.kind == DeltaKind::finish) note_numbers(delta.end);
      if (is_failure(delta)) return fail(failure_of(delta.end, request_.id), reply);
      begin(reply);
      if (delta.kind == DeltaKind::finish) end_ = end_name(delta.end);
      if (state_.options.logs_content) content_ += delta.text;
      if (streams_) {
        format_->write(delta, reply.body);
      } else {
        reducer_.take(delta);
      }
    }
    if (generation_.has_overflowed())
      return fail({408, "client_slow", "the answer was not read in time", {}}, reply);
    if (generation_.is_complete()) return finish(reply);
    if (ApiClock::now() < deadline_) return Pull::waiting;
    count_cancelled("timeout");
    return fail({408, "request_timeout", "the request's time is over", {}}, reply);
  }

  bool streams() const override { return streams_; }
  ApiClock::time_point deadline() const override { return deadline_; }
  void keep_alive(HttpReply& reply) override {
    begin(reply);
    reply.body += format_->keep_alive();
  }

  void cancel(std::string_view reason) override {
    generation_.cancel();
    count_cancelled(reason);
    end_ = "cancelled";
  }

  /// What was cancelled is counted by all that was computed for it, which is known here only.
  bool is_released() override {
    if (!generation_.is_released()) return false;
    count();
    return true;
  }

 private:
  /// A stream begins with its first delta, so that what fails before has a status of its own.
  void begin(HttpReply& reply) {
    if (has_begun_) return;
    has_begun_ = true;
    format_->note_begin();
    if (!streams_) return;
    reply.content_type = "text/event-stream; charset=utf-8";
    reply.fields.emplace_back("cache-control", "no-cache");
    format_->begin(reply.body);
  }

  Pull finish(HttpReply& reply) {
    if (streams_) {
      format_->end(generation_.usage(), reply.body);
    } else {
      reply.body = format_->whole(reducer_.choices(), generation_.usage());
    }
    count();
    return Pull::complete;
  }

  /// A later prompt was not taken: the answer is its error, once the others are gone.
  Pull pull_refused(HttpReply& reply) {
    if (!generation_.is_complete()) return Pull::waiting;
    return fail(describe(*generation_.error(), request_.id), reply);
  }

  Pull fail(const ApiError& error, HttpReply& reply) {
    generation_.cancel();
    state_.metrics.errors.add(fmt::format("code=\"{}\"", error.code));
    end_ = "error";
    if (generation_.is_complete()) count();
    if (has_begun_ && streams_) {
      format_->fail(error, reply.body);
    } else {
      format_->note_failure(error);
      HttpReply whole = error_reply(error, dialect_, request_.id);
      reply.status = whole.status;
      reply.body = std::move(whole.body);
      std::ranges::move(whole.fields, std::back_inserter(reply.fields));
    }
    return Pull::complete;
  }

  /// Readiness ends where answer after answer has numbers that are not finite.
  void note_numbers(ChoiceEnd end) {
    if (end == ChoiceEnd::numeric_failure) {
      ++state_.numeric_failures_in_a_row;
    } else if (end < ChoiceEnd::cancelled) {
      state_.numeric_failures_in_a_row = 0;
    }
  }

  void count_cancelled(std::string_view reason) {
    state_.metrics.cancelled.add(fmt::format("reason=\"{}\"", reason));
  }

  void observe_tokens() {
    const bool has_token = std::ranges::any_of(
        deltas_, [](const Delta& delta) { return delta.kind != DeltaKind::finish; });
    if (!has_token) return;
    const ApiClock::time_point now = ApiClock::now();
    if (last_token_ == ApiClock::time_point{}) {
      lease_->begin();
      ttft_ = seconds_since(begin_);
      state_.metrics.ttft.observe(ttft_);
    } else {
      state_.metrics.inter_token.observe(std::chrono::duration<double>(now - last_token_).count());
    }
    last_token_ = now;
  }

  /// Counts the answer, once.
  void count() {
    if (is_counted_) return;
    is_counted_ = true;
    const Usage& usage = generation_.usage();
    Metrics& metrics = state_.metrics;
    lease_->settle(usage.prompt_tokens + usage.completion_tokens);
    const double total = seconds_since(begin_);
    metrics.requests.add(fmt::format("endpoint=\"{}\",finish=\"{}\"", endpoint_, end_));
    metrics.prompt_tokens += usage.prompt_tokens;
    metrics.cached_tokens += usage.cached_tokens;
    metrics.generated_tokens += usage.completion_tokens;
    metrics.malformed_calls += generation_.malformed_calls();
    metrics.e2e.observe(total);
    metrics.queue.observe(generation_.queue_seconds());
    metrics.prompt_length.observe(static_cast<double>(usage.prompt_tokens));
    metrics.output_length.observe(static_cast<double>(usage.completion_tokens));
    if (usage.completion_tokens > 1)
      metrics.time_per_output_token.observe((total - ttft_) /
                                            static_cast<double>(usage.completion_tokens - 1));
    log(total);
  }

  void log(double total) const {
    if (!state_.options.log) return;
    const Usage& usage = generation_.usage();
    Json::Object line = {{"endpoint", endpoint_},
                         {"finish", end_},
                         {"prompt_tokens", usage.prompt_tokens},
                         {"cached_tokens", usage.cached_tokens},
                         {"completion_tokens", usage.completion_tokens},
                         {"reasoning_tokens", usage.reasoning_tokens},
                         {"queue_seconds", generation_.queue_seconds()},
                         {"ttft_seconds", ttft_},
                         {"seconds", total}};
    if (state_.options.logs_content) line.emplace_back("content", content_);
    log_request(state_.options, "generated", request_, std::move(line));
  }

  ApiState& state_;
  std::string_view endpoint_;
  ApiDialect dialect_;
  HttpRequest request_;  // without its body
  std::unique_ptr<AnswerFormat> format_;
  bool streams_;
  ApiClock::time_point begin_ = ApiClock::now();
  ApiClock::time_point deadline_;
  std::unique_ptr<Quotas::Lease> lease_;
  Generation generation_;
  AnswerReducer reducer_;
  std::string content_;  // for the log
  std::vector<Delta> deltas_;
  bool has_begun_ = false;
  bool is_counted_ = false;
  std::string_view end_ = "stop";
  double ttft_ = 0;
  ApiClock::time_point last_token_ = {};
};

}  // namespace

HandlerReply generate(ApiCall& call, GenerationPlan plan, std::unique_ptr<AnswerFormat> format,
                      bool streams) {
  HandlerReply reply;
  plan.joins_from = call.state.options.joins_from;
  plan.request_id = call.request.id;
  bound_priority(call, plan);
  Json::Object line = accepted_line(call, plan, streams);
  reply.source =
      std::make_unique<GenerationSource>(call, std::move(plan), std::move(format), streams);
  log_request(call.state.options, "accepted", call.request, std::move(line));
  return reply;
}

}  // namespace parhelion::app
