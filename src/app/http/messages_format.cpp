#include "app/http/block_format.h"
#include "app/http/json_text.h"
#include "base/hash.h"

#include <fmt/format.h>

#include <span>

namespace parhelion::app {
namespace {

std::string_view stop_reason(ChoiceEnd end) {
  if (end == ChoiceEnd::length) return "max_tokens";
  if (end == ChoiceEnd::stop_string) return "stop_sequence";
  return end == ChoiceEnd::tool_calls ? "tool_use" : "end_turn";
}

/// What comes back with a thought to show that it is ours.
std::string signature_of(std::string_view thought) {
  return hex(hash128(std::as_bytes(std::span(thought.data(), thought.size()))));
}

Json input_of(const std::string& arguments) {
  try {
    return arguments.empty() ? Json(Json::Object{}) : parse_json(arguments, "arguments");
  } catch (const Error&) {
    return Json::Object{};  // the model wrote no JSON; a block must have an object
  }
}

Json messages_usage(const Usage& usage) {
  return Json::Object{{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
                      {"cache_creation_input_tokens", 0},
                      {"cache_read_input_tokens", usage.cached_tokens},
                      {"output_tokens", usage.completion_tokens}};
}

/// A block as it is before it has anything.
Json empty_block(const AnswerPart& part) {
  if (part.kind == DeltaKind::text) return Json::Object{{"type", "text"}, {"text", ""}};
  if (part.kind == DeltaKind::reasoning)
    return Json::Object{{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
  return Json::Object{{"type", "tool_use"},
                      {"id", part.tool_id},
                      {"name", part.tool_name},
                      {"input", Json::Object{}}};
}

Json whole_block(const AnswerPart& part) {
  if (part.kind == DeltaKind::text) return Json::Object{{"type", "text"}, {"text", part.text}};
  if (part.kind == DeltaKind::reasoning) {
    return Json::Object{
        {"type", "thinking"}, {"thinking", part.text}, {"signature", signature_of(part.text)}};
  }
  return Json::Object{{"type", "tool_use"},
                      {"id", part.tool_id},
                      {"name", part.tool_name},
                      {"input", input_of(part.text)}};
}

class MessagesFormat : public BlockFormat {
 public:
  MessagesFormat(const ServedModel& model, std::string id, std::int64_t prompt_tokens)
      : model_(model), id_(std::move(id)), prompt_tokens_(prompt_tokens) {}

  void begin(std::string& out) override {
    const Usage usage{.prompt_tokens = prompt_tokens_};
    append_event("message_start", Json::Object{{"message", message({}, nullptr, nullptr, usage)}},
                 out);
    out += keep_alive();
  }

  std::string_view keep_alive() const override {
    return "event: ping\ndata: {\"type\":\"ping\"}\n\n";
  }

  void fail(const ApiError& error, std::string& out) override {
    out += "event: error\ndata: " + error_body(error, ApiDialect::anthropic, id_) + "\n\n";
  }

  void end(const Usage& usage, std::string& out) override {
    close(PartEnd::whole, out);
    append_event("message_delta",
                 Json::Object{{"delta", Json::Object{{"stop_reason", stop_reason(answer().end)},
                                                     {"stop_sequence", stop_sequence(answer())}}},
                              {"usage", messages_usage(usage)}},
                 out);
    append_event("message_stop", {}, out);
  }

  std::string whole(const std::vector<AnswerChoice>& choices, const Usage& usage) override {
    const AnswerChoice& choice = choices.front();
    Json::Array blocks;
    for (const AnswerPart& part : choice.parts) blocks.push_back(whole_block(part));
    return write_json(
        message(std::move(blocks), stop_reason(choice.end), stop_sequence(choice), usage));
  }

 protected:
  void open_part(std::int64_t index, const AnswerPart& part, std::string& out) override {
    append_event("content_block_start",
                 Json::Object{{"index", index}, {"content_block", empty_block(part)}}, out);
  }

  void add_to_part(std::int64_t index, const AnswerPart& part, const Delta& delta,
                   std::string& out) override {
    std::string_view type = "input_json_delta";
    std::string_view member = "partial_json";
    if (part.kind == DeltaKind::text) type = "text_delta", member = "text";
    if (part.kind == DeltaKind::reasoning) type = "thinking_delta", member = "thinking";
    out += fmt::format(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{},"
        "\"delta\":{{\"type\":\"{}\",\"{}\":",
        index, type, member);
    append_json(delta.text, out);
    out += "}}\n\n";
  }

  void close_part(std::int64_t index, const AnswerPart& part, PartEnd, std::string& out) override {
    if (part.kind == DeltaKind::reasoning) {
      append_event("content_block_delta",
                   Json::Object{{"index", index},
                                {"delta", Json::Object{{"type", "signature_delta"},
                                                       {"signature", signature_of(part.text)}}}},
                   out);
    }
    append_event("content_block_stop", Json::Object{{"index", index}}, out);
  }

 private:
  static Json stop_sequence(const AnswerChoice& choice) {
    return choice.end == ChoiceEnd::stop_string ? Json(choice.stop_string) : Json();
  }

  static void append_event(std::string_view type, Json::Object members, std::string& out) {
    members.emplace(members.begin(), "type", type);
    out += fmt::format("event: {}\ndata: {}\n\n", type, write_json(std::move(members)));
  }

  Json message(Json::Array content, const Json& reason, const Json& sequence,
               const Usage& usage) const {
    return Json::Object{{"id", id_},
                        {"type", "message"},
                        {"role", "assistant"},
                        {"model", model_.id},
                        {"content", std::move(content)},
                        {"stop_reason", reason},
                        {"stop_sequence", sequence},
                        {"usage", messages_usage(usage)}};
  }

  const ServedModel& model_;
  std::string id_;
  std::int64_t prompt_tokens_;
};

}  // namespace

std::unique_ptr<AnswerFormat> make_messages_format(const ServedModel& model, std::string id,
                                                   std::int64_t prompt_tokens) {
  return std::make_unique<MessagesFormat>(model, std::move(id), prompt_tokens);
}

}  // namespace parhelion::app
