#include "app/http/embedding_source.h"

#include "app/http/api_state.h"

#include <algorithm>
#include <utility>

namespace parhelion::app {
namespace {

ApiClock::time_point end_of(const EmbeddingPlan& plan) {
  if (!plan.time) return ApiClock::time_point::max();
  return ApiClock::now() + std::chrono::duration_cast<ApiClock::duration>(*plan.time);
}

/// What the texts take of their key's limits.
std::unique_ptr<Quotas::Lease> lease_of(ApiCall& call, const EmbeddingPlan& plan) {
  std::int64_t tokens = 0;
  for (const auto& prompt : plan.prompts) tokens += std::ssize(prompt);
  const std::int64_t sequences =
      std::min(std::ssize(plan.prompts), call.state.model.most_sequences);
  return call.state.quotas.take(call.state.options.keys.of(call.request.label), sequences, tokens);
}

class EmbeddingSource : public ReplySource {
 public:
  EmbeddingSource(ApiCall& call, EmbeddingPlan plan)
      : state_(call.state),
        id_(call.request.id),
        bell_(call.bell),
        lease_(lease_of(call, plan)),
        plan_(std::move(plan)),
        deadline_(end_of(plan_)) {
    texts_.reserve(plan_.prompts.size());
    submit();
    if (error_ && texts_.empty()) throw Error(*error_);
  }

  Pull pull(HttpReply& reply) override {
    note_finished();
    if (error_) return is_idle() ? fail(describe(*error_, id_), reply) : Pull::waiting;
    if (failure_) return fail(*failure_, reply);
    submit();
    if (finished_ == plan_.prompts.size()) return finish(reply);
    if (ApiClock::now() < deadline_) return Pull::waiting;
    state_.metrics.cancelled.add("reason=\"timeout\"");
    return fail({408, "request_timeout", "the request's time is over", {}}, reply);
  }

  bool streams() const override { return false; }
  void keep_alive(HttpReply&) override {}
  ApiClock::time_point deadline() const override { return deadline_; }

  void cancel(std::string_view reason) override {
    cancel_all();
    state_.metrics.cancelled.add(fmt::format("reason=\"{}\"", reason));
    end_ = "cancelled";
  }

  bool is_released() override {
    note_finished();
    if (!is_idle()) return false;
    for (const Text& text : texts_) text.wait_for_release();  // about to let go
    count();
    return true;
  }

 private:
  using Text = Submission<VectorSink>;

  bool is_idle() const { return finished_ == texts_.size(); }

  /// Hands texts to the server, as many as one request may have there.
  void submit() {
    const auto most = static_cast<std::size_t>(state_.model.most_sequences);
    while (!error_ && texts_.size() < plan_.prompts.size() && texts_.size() - finished_ < most) {
      try {
        submit_next();
      } catch (const Error& error) {
        error_ = std::make_unique<Error>(error);
        cancel_all();
      }
    }
  }

  void submit_next() {
    serve::Request request;
    request.prompt = std::move(plan_.prompts[texts_.size()]);
    request.embeds = true;
    request.fairness_key = plan_.fairness_key;
    Text text(state_.tickets, std::make_unique<VectorSink>(state_.model.embedding_width, bell_));
    text.submit(std::move(request), id_);
    texts_.push_back(std::move(text));
  }

  /// Counts the texts that have finished; those behind one that has not may have too.
  void note_finished() {
    finished_ = static_cast<std::size_t>(
        std::ranges::count_if(texts_, [](const Text& text) { return text.sink().is_finished(); }));
    if (finished_ > 0) lease_->begin();
    for (const Text& text : texts_) {
      if (failure_ || !text.sink().is_finished()) continue;
      const serve::FinishReason reason = text.sink().finish().reason;
      if (reason != serve::FinishReason::length) failure_ = failure_of(reason);
    }
  }

  ApiError failure_of(serve::FinishReason reason) const {
    if (reason == serve::FinishReason::numeric_failure) {
      return {500,
              "numeric_failure",
              fmt::format("the model's numbers are not finite; incident {}", id_),
              {}};
    }
    if (reason == serve::FinishReason::cancelled)
      return {503, "cancelled", "the server ended the request", {}};
    return {503, "engine_failed", "the engine has ended", {}};
  }

  void cancel_all() {
    for (Text& text : texts_)
      if (!text.sink().is_finished()) text.cancel();
  }

  Pull fail(const ApiError& error, HttpReply& reply) {
    cancel_all();
    state_.metrics.errors.add(fmt::format("code=\"{}\"", error.code));
    end_ = "error";
    HttpReply whole = error_reply(error, ApiDialect::openai, id_);
    reply.status = whole.status;
    reply.body = std::move(whole.body);
    std::ranges::move(whole.fields, std::back_inserter(reply.fields));
    return Pull::complete;
  }

  Pull finish(HttpReply& reply) {
    reply.body = R"({"object":"list","data":[)";
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      std::vector<float>& vector = texts_[i].sink().vector();
      fit_vector(plan_.dimension, plan_.normalises, vector);
      reply.body +=
          fmt::format(R"({}{{"object":"embedding","index":{},"embedding":)", i == 0 ? "" : ",", i);
      write_vector(vector, plan_.text, reply.body);
      reply.body += '}';
    }
    const std::int64_t tokens = prompt_tokens();
    reply.body += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                              write_json(state_.model.id), tokens, tokens);
    count();
    return Pull::complete;
  }

  std::int64_t prompt_tokens() const {
    std::int64_t tokens = 0;
    for (const Text& text : texts_) tokens += text.sink().finish().prompt_tokens;
    return tokens;
  }

  /// Counts the answer, once, when all texts have ended.
  void count() {
    if (std::exchange(is_counted_, true)) return;
    const std::int64_t tokens = prompt_tokens();
    lease_->settle(tokens);
    state_.metrics.prompt_tokens += tokens;
    state_.metrics.prompt_length.observe(static_cast<double>(tokens));
    const double seconds = std::chrono::duration<double>(ApiClock::now() - begin_).count();
    state_.metrics.requests.add(fmt::format("endpoint=\"embeddings\",finish=\"{}\"", end_));
    state_.metrics.e2e.observe(seconds);
    if (!state_.options.log) return;
    state_.options.log(write_json(Json::Object{{"event", "embedded"},
                                               {"request_id", id_},
                                               {"finish", end_},
                                               {"texts", std::ssize(plan_.prompts)},
                                               {"seconds", seconds}}));
  }

  ApiState& state_;
  std::string id_;
  std::shared_ptr<Bell> bell_;
  std::unique_ptr<Quotas::Lease> lease_;
  EmbeddingPlan plan_;
  ApiClock::time_point begin_ = ApiClock::now();
  ApiClock::time_point deadline_;
  std::vector<Text> texts_;       // in the order of the prompts, as far as they were submitted
  std::size_t finished_ = 0;      // of these
  std::unique_ptr<Error> error_;  // what kept a later text from being taken
  std::optional<ApiError> failure_;
  std::string_view end_ = "stop";
  bool is_counted_ = false;
};

}  // namespace

void VectorSink::take(const serve::FinishEvent& event) {
  std::ranges::copy(event.embedding.first(std::min(event.embedding.size(), vector_.size())),
                    vector_.begin());
  finish_ = event;
  finish_.embedding = {};
  is_finished_ = true;
  bell_->ring();
  is_released_ = true;  // the sink may be gone from here on
}

std::unique_ptr<ReplySource> make_embedding_source(ApiCall& call, EmbeddingPlan plan) {
  return std::make_unique<EmbeddingSource>(call, std::move(plan));
}

}  // namespace parhelion::app
