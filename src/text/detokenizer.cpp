#include "text/detokenizer.h"

#include "text/utf8.h"

#include <utility>

namespace parhelion::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Moves what is decided of `bytes` to `out` and returns the rest, an incomplete character.
std::string_view take_characters(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const Utf8Step step = read_utf8(bytes);
    if (step.status == Utf8Status::incomplete) break;
    out += step.status == Utf8Status::complete ? bytes.substr(0, step.bytes) : kReplacement;
    bytes.remove_prefix(step.bytes);
  }
  return bytes;
}

}  // namespace

std::string Detokenizer::push(TokenId id) {
  const bool is_replaced = unknown_ids_ == UnknownIds::replace && !tokenizer_.contains(id);
  const std::string_view bytes = is_replaced ? kReplacement : tokenizer_.token_bytes(id);
  const bool skips = special_tokens_ == SpecialTokens::skip && !is_replaced;
  if (skips && tokenizer_.is_special(id)) return {};
  std::string out;
  if (waiting_.empty()) {
    waiting_ = take_characters(bytes, out);
    return out;
  }
  const std::string joined = std::exchange(waiting_, {}) + std::string(bytes);
  waiting_ = take_characters(joined, out);
  return out;
}

std::string Detokenizer::flush() {
  return std::string(std::exchange(waiting_, {}).empty() ? std::string_view() : kReplacement);
}

}  // namespace parhelion::text
