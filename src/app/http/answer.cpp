#include "app/http/answer.h"

namespace parhelion::app {
namespace {

bool continues(const AnswerChoice& choice, const Delta& delta) {
  if (choice.parts.empty()) return false;
  if (delta.kind == DeltaKind::tool_arguments)
    return choice.parts.back().kind == DeltaKind::tool_call;
  return choice.parts.back().kind == delta.kind;
}

}  // namespace

std::string AnswerChoice::joined(DeltaKind kind) const {
  std::string text;
  for (const AnswerPart& part : parts) {
    if (part.kind == kind) text += part.text;
  }
  return text;
}

void AnswerReducer::take(const Delta& delta) {
  const auto index = static_cast<std::size_t>(delta.choice);
  if (index >= choices_.size()) choices_.resize(index + 1);
  AnswerChoice& choice = choices_[index];
  choice.logs.insert(choice.logs.end(), delta.logs.begin(), delta.logs.end());
  choice.ids.insert(choice.ids.end(), delta.ids.begin(), delta.ids.end());
  if (delta.kind == DeltaKind::finish) {
    choice.end = delta.end;
    choice.stop_string = delta.stop_string;
  } else if (delta.kind == DeltaKind::tool_call) {
    choice.parts.push_back({.kind = delta.kind, .tool_id = delta.tool_id, .tool_name = delta.text});
  } else if (continues(choice, delta)) {
    choice.parts.back().text += delta.text;
  } else if (!delta.text.empty()) {
    choice.parts.push_back({.kind = delta.kind, .text = delta.text});
  }
}

}  // namespace parhelion::app
