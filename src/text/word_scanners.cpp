#include "text/split.h"
#include "text/unicode.h"

namespace parhelion::text {
namespace {

namespace u = unicode;

/// The flags at `at`, or none behind the end.
std::uint8_t flags_or_none(const char* at, const char* end) {
  return at == end ? std::uint8_t{0} : flags_at(at).flags;
}

/// Behind the run of characters that have one of the flags `mask`.
const char* skip_with(const char* at, const char* end, std::uint8_t mask) {
  while (at != end) {
    const FlagsAt here = flags_at(at);
    if ((here.flags & mask) == 0) break;
    at += here.bytes;
  }
  return at;
}

/// Behind the run of characters that have none of the flags `mask`.
const char* skip_without(const char* at, const char* end, std::uint8_t mask) {
  while (at != end) {
    const FlagsAt here = flags_at(at);
    if ((here.flags & mask) != 0) break;
    at += here.bytes;
  }
  return at;
}

bool is_line_break(char c) { return c == '\r' || c == '\n'; }

/// \s+(?!\S)|\s+ where a white space stands at `at`: the run, less its last character if a word
/// follows and something is left.
const char* skip_spaces(const char* at, const char* end) {
  const char* last = at;
  const char* next = at;
  while (next != end) {
    const FlagsAt here = flags_at(next);
    if ((here.flags & u::kSpace) == 0) break;
    last = next;
    next += here.bytes;
  }
  return next == end || last == at ? next : last;
}

/// The length of what follows an apostrophe in 's, 't, 'm, 'd, 're, 've, 'll, in lower case, or 0.
std::size_t contraction_bytes(const char* at, const char* end) {
  if (at == end) return 0;
  const char a = *at;
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 1;
  if (at + 1 == end) return 0;
  const char b = at[1];
  return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 2 : 0;
}

/// The same in any case. U+017F is an s too: it folds to s.
std::size_t contraction_bytes_any_case(const char* at, const char* end) {
  if (end - at >= 2 && at[0] == '\xC5' && at[1] == '\xBF') return 2;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  char folded[2] = {};
  std::ptrdiff_t count = 0;
  for (; count < 2 && at + count != end; ++count) folded[count] = lower(at[count]);
  return contraction_bytes(folded, folded + count);
}

const char* skip_gpt2_word(const char* at, const char* end) {
  constexpr std::uint8_t kSolid = u::kSpace | u::kLetter | u::kNumber;
  if (*at == '\'') {
    if (const std::size_t bytes = contraction_bytes(at + 1, end)) return at + 1 + bytes;
  }
  const char* body = *at == ' ' ? at + 1 : at;
  if (body == end) return end;
  const std::uint8_t flags = flags_at(body).flags;
  if ((flags & u::kLetter) != 0) return skip_with(body, end, u::kLetter);
  if ((flags & u::kNumber) != 0) return skip_with(body, end, u::kNumber);
  if ((flags & u::kSpace) == 0) return skip_without(body, end, kSolid);
  return skip_spaces(at, end);
}

/// Behind at most `count` numbers.
const char* skip_numbers(const char* at, const char* end, std::int32_t count) {
  for (; count > 0 && at != end; --count) {
    const FlagsAt here = flags_at(at);
    if ((here.flags & u::kNumber) == 0) break;
    at += here.bytes;
  }
  return at;
}

/// \s*[\r\n]+|\s+(?!\S)|\s+ where a white space stands at `at`.
const char* skip_lines_or_spaces(const char* at, const char* end) {
  const char* run_end = skip_with(at, end, u::kSpace);
  for (const char* last = run_end; last != at; --last) {
    if (is_line_break(last[-1])) return last;
  }
  return skip_spaces(at, end);
}

const char* skip_llama3_word(const Llama3Words& words, const char* at, const char* end) {
  const std::uint8_t word = words.marks_in_words ? u::kLetter | u::kMark : u::kLetter;
  const auto solid = static_cast<std::uint8_t>(word | u::kSpace | u::kNumber);
  if (*at == '\'') {
    if (const std::size_t bytes = contraction_bytes_any_case(at + 1, end)) return at + 1 + bytes;
  }
  const FlagsAt first = flags_at(at);
  if ((first.flags & word) != 0) return skip_with(at, end, word);
  if ((first.flags & u::kNumber) != 0) return skip_numbers(at, end, words.max_digits);
  const char* second = at + first.bytes;
  const std::uint8_t next = flags_or_none(second, end);
  if (!is_line_break(*at) && (next & word) != 0) return skip_with(second, end, word);
  const bool is_space_before_other = *at == ' ' && second != end && (next & solid) == 0;
  if ((first.flags & u::kSpace) != 0 && !is_space_before_other) {
    return skip_lines_or_spaces(at, end);
  }
  const char* last = skip_without(is_space_before_other ? second : at, end, solid);
  while (last != end && is_line_break(*last)) ++last;
  return last;
}

}  // namespace

void split(const Gpt2Words&, std::string_view text, PieceSink sink) {
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* next = skip_gpt2_word(at, end);
    sink({at, static_cast<std::size_t>(next - at)});
    at = next;
  }
}

void split(const Llama3Words& stage, std::string_view text, PieceSink sink) {
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* next = skip_llama3_word(stage, at, end);
    sink({at, static_cast<std::size_t>(next - at)});
    at = next;
  }
}

}  // namespace parhelion::text
