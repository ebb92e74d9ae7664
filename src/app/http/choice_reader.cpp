#include "app/http/choice_reader.h"

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
    case serve::FinishReason::failed:
      return ChoiceEnd::failed;
  }
  fail(ErrorKind::bug, "finish reason {} is none", static_cast<int>(reason));
}

TokenLog log_of(const serve::TokenEvent& event) {
  return {.token = event.token, .top = {event.top.begin(), event.top.begin() + event.top_count}};
}

}  // namespace

ChoiceReader::ChoiceReader(const ServedModel& model, std::int64_t choice,
                           const ChoiceOptions& options)
    : choice_(choice),
      options_(options),
      detokenizer_(model.tokenizer,
                   options.shows_special ? text::SpecialTokens::keep : text::SpecialTokens::skip,
                   text::UnknownIds::replace) {}

void ChoiceReader::take(const serve::TokenEvent& event, std::vector<Delta>& deltas) {
  std::string text = detokenizer_.push(event.token.id);
  if (text.empty() && !options_.logs) return;
  Delta& delta = deltas.emplace_back();
  delta.choice = choice_;
  delta.text = std::move(text);
  if (options_.logs) delta.logs.push_back(log_of(event));
}

void ChoiceReader::take(const serve::FinishEvent& event, std::vector<Delta>& deltas) {
  std::string rest = detokenizer_.flush();
  if (!rest.empty()) deltas.push_back({.choice = choice_, .text = std::move(rest)});
  deltas.push_back({.kind = DeltaKind::finish, .choice = choice_, .end = end_of(event.reason)});
}

}  // namespace parhelion::app
