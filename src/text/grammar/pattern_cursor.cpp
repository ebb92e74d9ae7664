#include "text/grammar/pattern_cursor.h"

#include "text/utf8.h"

#include <algorithm>
#include <string>

namespace parhelion::text {
namespace {

constexpr std::int64_t kMaxRepeat = 100'000;

CodePointSet digit_points() { return {'0', '9'}; }

CodePointSet word_points() {
  CodePointSet set('0', '9');
  set.add('A', 'Z');
  set.add('a', 'z');
  set.add('_', '_');
  return set;
}

/// Source: ECMA-262, WhiteSpace and LineTerminator.
CodePointSet space_points() {
  CodePointSet set('\t', '\r');
  for (const char32_t point :
       std::u32string_view(U" \u00A0\u1680\u2028\u2029\u202F\u205F\u3000\uFEFF")) {
    set.add(point, point);
  }
  set.add(0x2000, 0x200A);
  return set;
}

}  // namespace

PatternCursor::PatternCursor(const RuleBook& book, std::string_view text)
    : book_(book), text_(text) {
  ensure(static_cast<std::int64_t>(text.size()) <= book.limits().source_bytes, ErrorKind::exhausted,
         "{}: {} bytes, expected at most {}", book.where(), text.size(),
         book.limits().source_bytes);
  ensure(find_invalid_utf8(text) == std::string_view::npos, ErrorKind::invalid, "{}: no UTF-8",
         book.where());
}

bool PatternCursor::take(std::string_view prefix) {
  if (!starts_with(prefix)) return false;
  at_ += prefix.size();
  return true;
}

char32_t PatternCursor::take_point() {
  if (is_at_end()) refuse(ErrorKind::invalid, "ends too early");
  const CodePoint point = decode_valid(text_.data() + at_);
  at_ += point.bytes;
  return point.value;
}

char32_t PatternCursor::take_hex(int digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  char32_t value = 0;
  for (int i = 0; i < digits; ++i) {
    const char c = peek();
    const std::size_t digit = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
    if (c == '\0' || digit == kDigits.npos) {
      refuse(ErrorKind::invalid, "expected {} hexadecimal digits", digits);
    }
    value = value * 16 + static_cast<char32_t>(digit);
    skip();
  }
  const bool is_scalar = value < 0xD800 || (value > 0xDFFF && value <= 0x10FFFF);
  if (!is_scalar) refuse(ErrorKind::invalid, "the escape is no character");
  return value;
}

std::optional<std::int64_t> PatternCursor::take_count() {
  if (peek() < '0' || peek() > '9') return std::nullopt;
  std::int64_t count = 0;
  for (; peek() >= '0' && peek() <= '9'; skip()) {
    count = count * 10 + (peek() - '0');
    if (count > kMaxRepeat) {
      refuse(ErrorKind::exhausted, "a repetition of more than {}", kMaxRepeat);
    }
  }
  return count;
}

RepeatCount PatternCursor::take_braces() {
  take("{");
  const std::optional<std::int64_t> min = take_count();
  RepeatCount count{.min = min.value_or(0), .max = min};
  if (take(",")) count.max = take_count();
  if (!take("}") || (!min && !count.max)) {
    refuse(ErrorKind::invalid, "expected {{2}}, {{2,}} or {{2,5}} (a plain brace is \\{{)");
  }
  if (count.max && *count.max < count.min) {
    refuse(ErrorKind::invalid, "a repetition of {} to {}", count.min, *count.max);
  }
  return count;
}

void PatternCursor::enter() {
  const std::int64_t limit = book_.limits().depth;
  if (++depth_ > limit) refuse(ErrorKind::exhausted, "nested deeper than {}", limit);
}

std::string PatternCursor::place() const {
  const std::string_view before = text_.substr(0, at_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n');
  const std::size_t column = line_start == before.npos ? at_ + 1 : at_ - line_start;
  return fmt::format("line {}, column {}", line, column);
}

CodePointSet read_escape(PatternCursor& cursor) {
  constexpr std::string_view kLetters = "nrtfv0";
  constexpr std::string_view kValues("\n\r\t\f\v\0", 6);
  const char32_t point = cursor.take_point();
  switch (point) {
    case 'd':
      return digit_points();
    case 'D':
      return digit_points().complement();
    case 'w':
      return word_points();
    case 'W':
      return word_points().complement();
    case 's':
      return space_points();
    case 'S':
      return space_points().complement();
    default:
      break;
  }
  char32_t value = point;
  const bool is_ascii = point < 0x80;
  const std::size_t letter = is_ascii ? kLetters.find(static_cast<char>(point)) : kLetters.npos;
  if (letter != kLetters.npos) {
    value = static_cast<char32_t>(kValues[letter]);
  } else if (point == 'x') {
    value = cursor.take_hex(2);
  } else if (point == 'u') {
    value = cursor.take_hex(4);
  } else if (point == 'U') {
    value = cursor.take_hex(8);
  } else if (is_ascii && word_points().contains(point)) {
    cursor.refuse(ErrorKind::unsupported, "the escape \\{} is not supported",
                  static_cast<char>(point));
  }
  return {value, value};
}

ClassReader::Member ClassReader::read_member() {
  if (!cursor_.take("\\")) {
    const char32_t point = cursor_.take_point();
    return {{point, point}, point};
  }
  Member member{read_escape(cursor_), std::nullopt};
  const auto& ranges = member.set.ranges();
  const bool is_one = ranges.size() == 1 && ranges[0].first == ranges[0].last;
  if (is_one) member.point = ranges[0].first;
  return member;
}

CodePointSet ClassReader::read() {
  std::vector<CodePointRange> ranges;
  const bool is_negated = cursor_.take("^");
  while (!cursor_.take("]")) {
    const Member member = read_member();
    const bool is_range = cursor_.peek() == '-' && cursor_.peek(1) != ']';
    if (!is_range) {
      const auto& more = member.set.ranges();
      ranges.insert(ranges.end(), more.begin(), more.end());
      continue;
    }
    cursor_.take("-");
    const Member last = read_member();
    if (!member.point || !last.point || *last.point < *member.point) {
      cursor_.refuse(ErrorKind::invalid, "a range of characters is out of order");
    }
    ranges.push_back({*member.point, *last.point});
  }
  const CodePointSet set(ranges);
  return is_negated ? set.complement() : set;
}

}  // namespace parhelion::text
