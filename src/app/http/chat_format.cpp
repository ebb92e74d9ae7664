#include "app/http/json_text.h"
#include "app/http/openai_format.h"
#include "app/http/token_logs.h"

#include <fmt/format.h>

#include <utility>

namespace parhelion::app {
namespace {

/// The text between a chunk's head and its tail is that of one choice.
class ChatFormat : public AnswerFormat {
 public:
  ChatFormat(const ServedModel& model, OpenAiAnswer answer, std::int64_t choices)
      : model_(model), answer_(std::move(answer)), choices_(choices) {
    head_ =
        fmt::format(R"(data: {{"id":{},"object":"chat.completion.chunk","created":{},"model":{},)"
                    R"("system_fingerprint":{},"choices":[)",
                    json_string(answer_.id), answer_.created, json_string(model.id),
                    json_string(model.fingerprint));
    tail_ = answer_.include_usage ? ",\"usage\":null}\n\n" : "}\n\n";
  }

  void begin(std::string& out) override {
    for (std::int64_t i = 0; i < choices_; ++i)
      chunk(i, R"({"role":"assistant","content":""})", Delta{}, {}, out);
  }

  void write(const Delta& delta, std::string& out) override {
    if (delta.kind == DeltaKind::finish)
      return chunk(delta.choice, "{}", delta, openai_finish(delta.end), out);
    std::string body;
    append_delta(delta, body);
    chunk(delta.choice, body, delta, {}, out);
  }

  void end(const Usage& usage, std::string& out) override {
    if (answer_.include_usage)
      out += head_ + "],\"usage\":" + write_json(openai_usage(usage)) + "}\n\n";
    out += "data: [DONE]\n\n";
  }

  void fail(const ApiError& error, std::string& out) override { append_openai_failure(error, out); }

  std::string whole(const std::vector<AnswerChoice>& choices, const Usage& usage) override {
    Json::Array items;
    for (std::size_t i = 0; i < choices.size(); ++i) items.push_back(whole_choice(choices[i], i));
    return with_extra(Json::Object{{"id", answer_.id},
                                   {"object", "chat.completion"},
                                   {"created", answer_.created},
                                   {"model", model_.id},
                                   {"system_fingerprint", model_.fingerprint},
                                   {"choices", std::move(items)},
                                   {"usage", openai_usage(usage)}},
                      answer_.extra);
  }

 private:
  static void append_delta(const Delta& delta, std::string& out) {
    if (delta.kind == DeltaKind::text || delta.kind == DeltaKind::reasoning) {
      out += delta.kind == DeltaKind::text ? R"({"content":)" : R"({"reasoning_content":)";
      append_json(delta.text, out);
      out += '}';
      return;
    }
    out += fmt::format(R"({{"tool_calls":[{{"index":{},)", delta.tool);
    if (delta.kind == DeltaKind::tool_call) {
      out += R"("id":)" + json_string(delta.tool_id) + R"(,"type":"function","function":{"name":)" +
             json_string(delta.text) + R"(,"arguments":""}}]})";
    } else {
      out += R"("function":{"arguments":)" + json_string(delta.text) + "}}]}";
    }
  }

  /// `delta` as `body` has it.
  void chunk(std::int64_t choice, std::string_view body, const Delta& delta,
             std::string_view finish, std::string& out) {
    out += head_;
    fmt::format_to(std::back_inserter(out), R"({{"index":{},"delta":{},"logprobs":)", choice, body);
    if (delta.logs.empty()) {
      out += "null";
    } else {
      out += write_json(chat_logs(model_.tokenizer, delta.logs));
    }
    if (answer_.ids) out += ",\"token_ids\":" + json_ids(delta.ids);
    out += R"(,"finish_reason":)";
    if (finish.empty()) {
      out += "null";
    } else {
      append_json(finish, out);
    }
    out += "}]";
    out += std::exchange(answer_.extra, {});
    out += tail_;
  }

  Json whole_choice(const AnswerChoice& choice, std::size_t index) const {
    Json::Object message = {{"role", "assistant"}};
    const std::string text = choice.joined(DeltaKind::text);
    Json::Array calls = whole_calls(choice);
    message.emplace_back("content", text.empty() && !calls.empty() ? Json() : Json(text));
    if (const std::string reasoning = choice.joined(DeltaKind::reasoning); !reasoning.empty())
      message.emplace_back("reasoning_content", reasoning);
    message.emplace_back("refusal", nullptr);
    if (!calls.empty()) message.emplace_back("tool_calls", std::move(calls));
    Json::Object whole = {
        {"index", static_cast<std::int64_t>(index)},
        {"message", std::move(message)},
        {"logprobs", answer_.logs ? chat_logs(model_.tokenizer, choice.logs) : Json()},
        {"finish_reason", openai_finish(choice.end)}};
    if (answer_.ids) whole.emplace_back("token_ids", ids_json(choice.ids));
    return whole;
  }

  static Json::Array whole_calls(const AnswerChoice& choice) {
    Json::Array calls;
    for (const AnswerPart& part : choice.parts) {
      if (part.kind != DeltaKind::tool_call) continue;
      calls.push_back(Json::Object{
          {"id", part.tool_id},
          {"type", "function"},
          {"function", Json::Object{{"name", part.tool_name}, {"arguments", part.text}}}});
    }
    return calls;
  }

  const ServedModel& model_;
  OpenAiAnswer answer_;
  std::int64_t choices_;
  std::string head_;  // of each chunk, up to its choices
  std::string tail_;
};

}  // namespace

std::unique_ptr<AnswerFormat> make_chat_format(const ServedModel& model, OpenAiAnswer answer,
                                               std::int64_t choices) {
  return std::make_unique<ChatFormat>(model, std::move(answer), choices);
}

}  // namespace parhelion::app
