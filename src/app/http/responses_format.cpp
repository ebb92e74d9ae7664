#include "app/http/block_format.h"

#include <fmt/format.h>

#include <ctime>

namespace parhelion::app {
namespace {

Json responses_usage(const Usage& usage) {
  return Json::Object{
      {"input_tokens", usage.prompt_tokens},
      {"input_tokens_details", Json::Object{{"cached_tokens", usage.cached_tokens}}},
      {"output_tokens", usage.completion_tokens},
      {"output_tokens_details", Json::Object{{"reasoning_tokens", usage.reasoning_tokens}}},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

Json text_part(const std::string& text) {
  return Json::Object{{"type", "output_text"},
                      {"text", text},
                      {"annotations", Json::Array{}},
                      {"logprobs", Json::Array{}}};
}

Json reasoning_part(const std::string& text) {
  return Json::Object{{"type", "reasoning_text"}, {"text", text}};
}

class ResponsesFormat : public BlockFormat {
 public:
  ResponsesFormat(const ServedModel& model, std::string id, Json::Object request,
                  std::unique_ptr<ResponseRecord> record)
      : model_(model),
        id_(std::move(id)),
        request_(std::move(request)),
        record_(std::move(record)) {
    keep(ResponseStatus::queued, response_with("queued", {}, nullptr, nullptr));
  }

  void note_begin() override {
    keep(ResponseStatus::in_progress, response_with("in_progress", {}, nullptr, nullptr));
  }

  /// A client that waits gets an error in place of a response.
  void note_failure(const ApiError& error) override {
    if (record_ && record_->is_background()) keep(ResponseStatus::failed, failed(error));
  }

  void begin(std::string& out) override {
    const Json::Object response = response_with("in_progress", {}, nullptr, nullptr);
    event("response.created", {{"response", response}}, out);
    event("response.in_progress", {{"response", response}}, out);
  }

  void end(const Usage& usage, std::string& out) override {
    close(PartEnd::whole, out);
    const Json::Object response = finished(answer(), usage);
    const bool is_whole = answer().end != ChoiceEnd::length;
    keep(end_status(answer()), response);
    event(is_whole ? "response.completed" : "response.incomplete", {{"response", response}}, out);
  }

  void fail(const ApiError& error, std::string& out) override {
    close(PartEnd::cut, out);
    const Json::Object response = failed(error);
    keep(ResponseStatus::failed, response);
    event("response.failed", {{"response", response}}, out);
  }

  std::string whole(const std::vector<AnswerChoice>& choices, const Usage& usage) override {
    const Json::Object response = finished(choices.front(), usage);
    keep(end_status(choices.front()), response);
    return write_json(response);
  }

 protected:
  void open_part(std::int64_t index, const AnswerPart& part, std::string& out) override {
    event("response.output_item.added",
          {{"output_index", index}, {"item", item(index, part, "in_progress", false)}}, out);
    if (part.kind == DeltaKind::text)
      part_event("response.content_part.added", index, {{"part", text_part("")}}, out);
    if (part.kind == DeltaKind::reasoning)
      part_event("response.content_part.added", index, {{"part", reasoning_part("")}}, out);
  }

  void add_to_part(std::int64_t index, const AnswerPart& part, const Delta& delta,
                   std::string& out) override {
    if (part.kind == DeltaKind::tool_call) {
      event("response.function_call_arguments.delta",
            {{"item_id", item_id(index, part)}, {"output_index", index}, {"delta", delta.text}},
            out);
    } else if (part.kind == DeltaKind::text) {
      part_event("response.output_text.delta", index,
                 {{"delta", delta.text}, {"logprobs", Json::Array{}}}, out);
    } else {
      part_event("response.reasoning_text.delta", index, {{"delta", delta.text}}, out);
    }
  }

  void close_part(std::int64_t index, const AnswerPart& part, PartEnd end,
                  std::string& out) override {
    if (part.kind == DeltaKind::tool_call) {
      event("response.function_call_arguments.done",
            {{"item_id", item_id(index, part)},
             {"output_index", index},
             {"name", part.tool_name},
             {"arguments", part.text}},
            out);
    } else if (part.kind == DeltaKind::text) {
      part_event("response.output_text.done", index,
                 {{"text", part.text}, {"logprobs", Json::Array{}}}, out);
      part_event("response.content_part.done", index, {{"part", text_part(part.text)}}, out);
    } else {
      part_event("response.reasoning_text.done", index, {{"text", part.text}}, out);
      part_event("response.content_part.done", index, {{"part", reasoning_part(part.text)}}, out);
    }
    event("response.output_item.done",
          {{"output_index", index},
           {"item", item(index, part, end == PartEnd::cut ? "incomplete" : "completed", true)}},
          out);
  }

 private:
  static ResponseStatus end_status(const AnswerChoice& choice) {
    return choice.end == ChoiceEnd::length ? ResponseStatus::incomplete : ResponseStatus::completed;
  }

  void keep(ResponseStatus status, const Json::Object& response) {
    if (record_) record_->update(status, write_json(response));
  }

  void event(std::string_view type, Json::Object members, std::string& out) {
    members.insert(members.begin(),
                   {{"type", Json(type)}, {"sequence_number", Json(sequence_number_++)}});
    out += fmt::format("event: {}\ndata: {}\n\n", type, write_json(std::move(members)));
  }

  /// An event of the one content part of an item.
  void part_event(std::string_view type, std::int64_t index, Json::Object members,
                  std::string& out) {
    const AnswerPart& part = answer().parts[static_cast<std::size_t>(index)];
    members.insert(members.begin(), {{"item_id", Json(item_id(index, part))},
                                     {"output_index", Json(index)},
                                     {"content_index", Json(0)}});
    event(type, std::move(members), out);
  }

  /// Ids of items follow from that of the response and their place.
  std::string item_id(std::int64_t index, const AnswerPart& part) const {
    const std::string_view kind = part.kind == DeltaKind::text        ? "msg"
                                  : part.kind == DeltaKind::reasoning ? "rs"
                                                                      : "fc";
    return fmt::format("{}_{}_{}", kind, id_.substr(id_.find('_') + 1), index);
  }

  Json item(std::int64_t index, const AnswerPart& part, std::string_view status,
            bool is_filled) const {
    const std::string id = item_id(index, part);
    const std::string text = is_filled ? part.text : "";
    if (part.kind == DeltaKind::tool_call) {
      return Json::Object{{"id", id},
                          {"type", "function_call"},
                          {"status", status},
                          {"call_id", part.tool_id},
                          {"name", part.tool_name},
                          {"arguments", text}};
    }
    const bool is_text = part.kind == DeltaKind::text;
    Json::Array content;
    if (is_filled) content.push_back(is_text ? text_part(text) : reasoning_part(text));
    if (!is_text) {
      return Json::Object{{"id", id},
                          {"type", "reasoning"},
                          {"summary", Json::Array{}},
                          {"content", std::move(content)},
                          {"status", status}};
    }
    return Json::Object{{"id", id},
                        {"type", "message"},
                        {"status", status},
                        {"role", "assistant"},
                        {"content", std::move(content)}};
  }

  Json::Array items(const AnswerChoice& choice, std::string_view last_status) const {
    Json::Array made;
    for (const AnswerPart& part : choice.parts) {
      const auto index = std::ssize(made);
      const bool is_last = index + 1 == std::ssize(choice.parts);
      made.push_back(item(index, part, is_last ? last_status : "completed", true));
    }
    return made;
  }

  Json::Object finished(const AnswerChoice& choice, const Usage& usage) const {
    const bool is_whole = choice.end != ChoiceEnd::length;
    const std::string_view status = is_whole ? "completed" : "incomplete";
    return response_with(status, items(choice, status), responses_usage(usage), nullptr);
  }

  Json::Object failed(const ApiError& error) const {
    const Json told = Json::Object{{"code", error.code}, {"message", error.message}};
    return response_with("failed", items(answer(), "incomplete"), nullptr, told);
  }

  Json::Object response_with(std::string_view status, Json::Array output, const Json& usage,
                             const Json& error) const {
    const bool is_cut = status == "incomplete";
    Json::Object response = {
        {"id", id_},
        {"object", "response"},
        {"created_at", created_},
        {"status", status},
        {"error", error},
        {"incomplete_details",
         is_cut ? Json(Json::Object{{"reason", "max_output_tokens"}}) : Json()},
        {"model", model_.id},
        {"output", std::move(output)},
        {"usage", usage}};
    response.insert(response.end(), request_.begin(), request_.end());
    return response;
  }

  const ServedModel& model_;
  std::string id_;
  Json::Object request_;
  std::unique_ptr<ResponseRecord> record_;  // null: nothing keeps it
  std::int64_t created_ = std::time(nullptr);
  std::int64_t sequence_number_ = 0;
};

}  // namespace

std::unique_ptr<AnswerFormat> make_responses_format(const ServedModel& model, std::string id,
                                                    Json::Object request,
                                                    std::unique_ptr<ResponseRecord> record) {
  return std::make_unique<ResponsesFormat>(model, std::move(id), std::move(request),
                                           std::move(record));
}

}  // namespace parhelion::app
