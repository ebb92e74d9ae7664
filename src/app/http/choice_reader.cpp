#include "app/http/choice_reader.h"

#include "app/http/make_id.h"
#include "base/error.h"

namespace parhelion::app {
namespace {

ChoiceEnd end_of(serve::FinishReason reason) {
  switch (reason) {
    case serve::FinishReason::stop:
      return ChoiceEnd::stop;
    case serve::FinishReason::length:
      return ChoiceEnd::length;
    case serve::FinishReason::cancelled:
      return ChoiceEnd::cancelled;
    case serve::FinishReason::numeric_failure:
      return ChoiceEnd::numeric_failure;
    case serve::FinishReason::no_allowed_token:
      return ChoiceEnd::no_allowed_token;
    case serve::FinishReason::rules_failed:
      return ChoiceEnd::rules_failed;
    case serve::FinishReason::failed:
      return ChoiceEnd::failed;
  }
  fail(ErrorKind::bug, "finish reason {} is none", static_cast<int>(reason));
}

DeltaKind kind_of(text::ReplyPart part) {
  switch (part) {
    case text::ReplyPart::text:
      return DeltaKind::text;
    case text::ReplyPart::reasoning:
      return DeltaKind::reasoning;
    case text::ReplyPart::call:
      return DeltaKind::tool_call;
    case text::ReplyPart::arguments:
    case text::ReplyPart::call_end:
      break;
  }
  return DeltaKind::tool_arguments;
}

TokenLog log_of(const serve::TokenEvent& event) {
  return {.token = event.token, .top = {event.top.begin(), event.top.begin() + event.top_count}};
}

}  // namespace

ChoiceReader::ChoiceReader(const ServedModel& model, std::int64_t choice,
                           const ChoiceOptions& options, ChoiceEcho echo)
    : choice_(choice),
      logs_(options.logs),
      ids_(options.ids),
      call_prefix_(options.call_prefix),
      reader_(model.tokenizer, options.reply) {
  echo_ = {.choice = choice, .text = std::move(echo.text)};
  if (echo.first_id)
    echo_.logs.push_back({.token = {*echo.first_id, 0}, .in_prompt = true, .has_value = false});
}

/// Tells of the prompt, once.
void ChoiceReader::begin(std::vector<Delta>& deltas) {
  if (has_begun_) return;
  has_begun_ = true;
  if (!echo_.text.empty() || !echo_.logs.empty()) deltas.push_back(std::move(echo_));
}

Delta& ChoiceReader::add(DeltaKind kind, std::vector<Delta>& deltas) const {
  Delta& delta = deltas.emplace_back();
  delta.kind = kind;
  delta.choice = choice_;
  return delta;
}

/// Appends what the reader has read.
void ChoiceReader::tell(std::vector<Delta>& deltas) {
  for (text::ReplyEvent& event : events_) {
    if (event.part == text::ReplyPart::call_end) {
      if (!has_arguments_) event.text = "{}";  // clients parse them
      if (has_arguments_) continue;
    }
    if (event.part == text::ReplyPart::call) has_arguments_ = false;
    if (event.part == text::ReplyPart::arguments) has_arguments_ = true;
    Delta& delta = add(kind_of(event.part), deltas);
    delta.text = std::move(event.text);
    delta.tool = event.call;
    if (event.part == text::ReplyPart::call) delta.tool_id = make_id(call_prefix_);
  }
  events_.clear();
}

void ChoiceReader::take(const serve::TokenEvent& event, std::vector<Delta>& deltas) {
  if (event.in_prompt) return echo_.logs.push_back(log_of(event));
  begin(deltas);
  if (reader_.is_in_reasoning()) ++reasoning_tokens_;
  const std::size_t before = deltas.size();
  reader_.push(event.token.id, events_);
  tell(deltas);
  if (!logs_ && !ids_) return;
  if (deltas.size() == before) add(DeltaKind::text, deltas);
  if (logs_) deltas[before].logs.push_back(log_of(event));
  if (ids_) deltas[before].ids.push_back(event.token.id);
}

void ChoiceReader::take(const serve::FinishEvent& event, std::vector<Delta>& deltas) {
  begin(deltas);
  reader_.finish(events_);
  tell(deltas);
  Delta& end = add(DeltaKind::finish, deltas);
  end.end = end_of(event.reason);
  if (end.end != ChoiceEnd::stop && end.end != ChoiceEnd::length) return;
  if (const auto stop = reader_.stop()) {
    end.end = ChoiceEnd::stop_string;
    end.stop_string = *stop;
  } else if (end.end == ChoiceEnd::stop && reader_.call_count() > 0) {
    end.end = ChoiceEnd::tool_calls;
  }
}

}  // namespace parhelion::app
