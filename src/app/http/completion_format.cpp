#include "app/http/json_text.h"
#include "app/http/openai_format.h"
#include "app/http/token_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace parhelion::app {
namespace {

/// How likely a choice was, per token.
double mean_log(const AnswerChoice& choice) {
  double sum = 0;
  double count = 0;
  for (const TokenLog& log : choice.logs) {
    if (log.in_prompt) continue;
    sum += finite_log(log.token.log_probability);
    ++count;
  }
  return count == 0 ? -std::numeric_limits<double>::infinity() : sum / count;
}

class CompletionFormat : public AnswerFormat {
 public:
  CompletionFormat(const ServedModel& model, OpenAiAnswer answer, CompletionChoices choices)
      : model_(model),
        answer_(std::move(answer)),
        choices_(std::move(choices)),
        offsets_(static_cast<std::size_t>(choices_.prompts * choices_.sampled)) {
    head_ = fmt::format(R"(data: {{"id":{},"object":"text_completion","created":{},"model":{},)"
                        R"("system_fingerprint":{},"choices":[)",
                        json_string(answer_.id), answer_.created, json_string(model.id),
                        json_string(model.fingerprint));
    tail_ = answer_.include_usage ? ",\"usage\":null}\n\n" : "}\n\n";
  }

  void begin(std::string&) override {}

  void write(const Delta& delta, std::string& out) override {
    if (delta.kind == DeltaKind::finish) return chunk(delta, {}, openai_finish(delta.end), out);
    chunk(delta, delta.text, {}, out);
  }

  void end(const Usage& usage, std::string& out) override {
    if (answer_.include_usage)
      out += head_ + "],\"usage\":" + write_json(openai_usage(usage)) + "}\n\n";
    out += "data: [DONE]\n\n";
  }

  void fail(const ApiError& error, std::string& out) override { append_openai_failure(error, out); }

  std::string whole(const std::vector<AnswerChoice>& choices, const Usage& usage) override {
    Json::Array items;
    for (std::int64_t prompt = 0; prompt < choices_.prompts; ++prompt) {
      for (const std::size_t index : likeliest(choices, prompt))
        items.push_back(whole_choice(choices[index], items.size()));
    }
    return with_extra(Json::Object{{"id", answer_.id},
                                   {"object", "text_completion"},
                                   {"created", answer_.created},
                                   {"model", model_.id},
                                   {"system_fingerprint", model_.fingerprint},
                                   {"choices", std::move(items)},
                                   {"usage", openai_usage(usage)}},
                      answer_.extra);
  }

 private:
  void chunk(const Delta& delta, std::string_view text, std::string_view finish, std::string& out) {
    out += head_ + R"({"text":)";
    append_json(text, out);
    out += fmt::format(R"(,"index":{},"logprobs":)", delta.choice);
    std::int64_t& offset = offsets_[static_cast<std::size_t>(delta.choice)];
    out += delta.logs.empty() ? "null"
                              : write_json(completion_logs(model_.tokenizer, delta.logs, offset));
    if (answer_.ids) out += ",\"token_ids\":" + json_ids(delta.ids);
    offset += static_cast<std::int64_t>(text.size());
    out += R"(,"finish_reason":)";
    out += finish.empty() ? "null" : json_string(finish);
    out += "}]" + std::exchange(answer_.extra, {}) + tail_;
  }

  /// The shown choices of a prompt: all in their order, or the likeliest first.
  std::vector<std::size_t> likeliest(const std::vector<AnswerChoice>& choices,
                                     std::int64_t prompt) const {
    std::vector<std::size_t> indices(static_cast<std::size_t>(choices_.sampled));
    std::iota(indices.begin(), indices.end(), static_cast<std::size_t>(prompt * choices_.sampled));
    if (choices_.shown == choices_.sampled) return indices;
    std::ranges::stable_sort(indices, std::greater<>(),
                             [&](std::size_t index) { return mean_log(choices[index]); });
    indices.resize(static_cast<std::size_t>(choices_.shown));
    return indices;
  }

  Json whole_choice(const AnswerChoice& choice, std::size_t index) const {
    Json::Object whole = {
        {"text", choice.joined(DeltaKind::text)},
        {"index", static_cast<std::int64_t>(index)},
        {"logprobs", answer_.logs ? completion_logs(model_.tokenizer, choice.logs, 0) : Json()},
        {"finish_reason", openai_finish(choice.end)}};
    if (answer_.ids) whole.emplace_back("token_ids", ids_json(choice.ids));
    return whole;
  }

  const ServedModel& model_;
  OpenAiAnswer answer_;
  CompletionChoices choices_;
  std::vector<std::int64_t> offsets_;  // bytes of text that each choice has sent
  std::string head_;
  std::string tail_;
};

}  // namespace

std::unique_ptr<AnswerFormat> make_completion_format(const ServedModel& model, OpenAiAnswer answer,
                                                     CompletionChoices choices) {
  return std::make_unique<CompletionFormat>(model, std::move(answer), std::move(choices));
}

}  // namespace parhelion::app
