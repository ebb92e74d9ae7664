#include "text/json_cursor.h"

#include "base/error.h"
#include "text/utf8.h"

#include <charconv>

namespace parhelion::text {

void JsonCursor::refuse(std::string_view expected) const {
  fail(ErrorKind::corrupt, "{}: byte {} is not {}", where_, at_, expected);
}

void JsonCursor::skip_space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

char JsonCursor::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonCursor::expect(char c) {
  if (peek() != c) refuse(std::string("'") + c + "'");
  ++at_;
}

void JsonCursor::open(char bracket) { expect(bracket); }

bool JsonCursor::next_item(char close, bool first) {
  if (peek() == close) {
    ++at_;
    return false;
  }
  if (!first) {
    expect(',');
    if (peek() == close) refuse("a value");
  }
  return true;
}

void JsonCursor::finish() {
  if (peek() != '\0' || at_ < text_.size()) refuse("the end of the text");
}

std::string_view JsonCursor::string(std::string& storage) {
  expect('"');
  const std::size_t begin = at_;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') return text_.substr(begin, at_++ - begin);
    if (c == '\\') return unescape(begin, storage);
    if (static_cast<unsigned char>(c) < 0x20) refuse("allowed in a string");
  }
  refuse("the end of a string");
}

std::string_view JsonCursor::unescape(std::size_t begin, std::string& storage) {
  storage.assign(text_.substr(begin, at_ - begin));
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (static_cast<unsigned char>(c) < 0x20) refuse("allowed in a string");
    ++at_;
    if (c == '"') return storage;
    if (c == '\\') {
      escape(storage);
    } else {
      storage += c;
    }
  }
  refuse("the end of a string");
}

std::uint32_t JsonCursor::hex_unit() {
  std::uint32_t unit = 0;
  const std::string_view digits = text_.substr(at_, 4);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) refuse("four digits");
  at_ += 4;
  return unit;
}

void JsonCursor::escape(std::string& storage) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char letter = at_ < text_.size() ? text_[at_] : '\0';
  ++at_;
  if (letter != 'u') {
    const std::size_t index = kLetters.find(letter);
    if (letter == '\0' || index == std::string_view::npos) refuse("an escape");
    storage += kMeanings[index];
    return;
  }
  std::uint32_t unit = hex_unit();
  if (unit >= 0xD800 && unit < 0xE000) {
    const bool is_pair = unit < 0xDC00 && text_.substr(at_, 2) == "\\u";
    if (is_pair) at_ += 2;
    const std::uint32_t low = is_pair ? hex_unit() : 0;
    if (low < 0xDC00 || low >= 0xE000) refuse("a pair of surrogates");
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(static_cast<char32_t>(unit), storage);
}

std::int64_t JsonCursor::integer() {
  skip_space();
  std::int64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) refuse("an integer of 64 bits");
  at_ += static_cast<std::size_t>(end - begin);
  const char next = at_ < text_.size() ? text_[at_] : ',';
  if (next == '.' || next == 'e' || next == 'E') refuse("an integer");
  return value;
}

void JsonCursor::skip_string() {
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\\') {
      ++at_;
    } else if (text_[at_] == '"') {
      ++at_;
      return;
    }
  }
  refuse("the end of a string");
}

std::string_view JsonCursor::raw_value() {
  skip_space();
  const std::size_t begin = at_;
  std::int64_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      skip_string();
      if (depth == 0) break;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
    if (c == '{' || c == '[') ++depth;
    ++at_;
    if ((c == '}' || c == ']') && --depth == 0) break;
  }
  if (depth != 0 || at_ == begin || at_ > text_.size()) refuse("a value");
  return text_.substr(begin, at_ - begin);
}

}  // namespace parhelion::text
