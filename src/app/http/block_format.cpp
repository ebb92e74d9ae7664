#include "app/http/block_format.h"

namespace parhelion::app {
namespace {

const AnswerChoice kNoAnswer{};

}  // namespace

const AnswerChoice& BlockFormat::answer() const {
  return reducer_.choices().empty() ? kNoAnswer : reducer_.choices().front();
}

void BlockFormat::close(PartEnd end, std::string& out) {
  if (is_open_) close_part(std::ssize(answer().parts) - 1, answer().parts.back(), end, out);
  is_open_ = false;
}

void BlockFormat::write(const Delta& delta, std::string& out) {
  const auto before = std::ssize(answer().parts);
  const bool adds = delta.kind != DeltaKind::finish && delta.kind != DeltaKind::tool_call;
  if (adds && delta.text.empty()) return reducer_.take(delta);
  const bool continues = adds && is_open_ && before > 0 &&
                         (answer().parts.back().kind == delta.kind ||
                          (delta.kind == DeltaKind::tool_arguments &&
                           answer().parts.back().kind == DeltaKind::tool_call));
  const bool is_cut = delta.kind == DeltaKind::finish && delta.end == ChoiceEnd::length;
  if (!continues) close(is_cut ? PartEnd::cut : PartEnd::whole, out);
  reducer_.take(delta);
  if (delta.kind == DeltaKind::finish) return;
  const std::int64_t index = std::ssize(answer().parts) - 1;
  if (index >= before) {
    open_part(index, answer().parts.back(), out);
    is_open_ = true;
  }
  if (adds) add_to_part(index, answer().parts.back(), delta, out);
}

}  // namespace parhelion::app
