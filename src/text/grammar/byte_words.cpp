#include "text/grammar/byte_words.h"

#include "text/utf8.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace parhelion::text {
namespace {

constexpr std::array<char32_t, 3> kLastOfLength = {0x7F, 0x7FF, 0xFFFF};

ByteRange byte_range(char first, char last) {
  return {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last)};
}

ByteClass one_byte(char byte) { return {byte_range(byte, byte)}; }

/// Adds the words of a range whose characters have equally many bytes: cut until all bytes behind
/// the first that differs run over all of 80 to BF.
void add_utf8_words(char32_t first, char32_t last, std::vector<ByteWord>& words) {
  for (int tail = 1; tail < 4; ++tail) {
    const char32_t low = (char32_t{1} << 6 * tail) - 1;
    if (last <= 0x7F || (first & ~low) == (last & ~low)) continue;
    if ((first & low) != 0) {
      add_utf8_words(first, first | low, words);
      return add_utf8_words((first | low) + 1, last, words);
    }
    if ((last & low) != low) {
      add_utf8_words(first, (last & ~low) - 1, words);
      return add_utf8_words(last & ~low, last, words);
    }
  }
  std::string from;
  std::string to;
  append_utf8(first, from);
  append_utf8(last, to);
  ByteWord word;
  for (std::size_t i = 0; i < from.size(); ++i) word.push_back({byte_range(from[i], to[i])});
  words.push_back(std::move(word));
}

void add_utf8_words(const CodePointSet& set, std::vector<ByteWord>& words) {
  for (const CodePointRange& range : set.ranges()) {
    char32_t first = range.first;
    for (const char32_t last_of_length : kLastOfLength) {
      if (first > last_of_length || range.last <= last_of_length) continue;
      add_utf8_words(first, last_of_length, words);
      first = last_of_length + 1;
    }
    add_utf8_words(first, range.last, words);
  }
}

/// The letter behind the backslash of a short escape, or 0.
char short_escape(char32_t point) {
  constexpr std::string_view kPoints = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  const std::size_t at = point < 0x80 ? kPoints.find(static_cast<char>(point)) : kPoints.npos;
  return at == kPoints.npos ? '\0' : kLetters[at];
}

/// Escapes of the characters that JSON does not let stand as themselves.
void add_needed_escapes(const CodePointSet& set, std::vector<ByteWord>& words) {
  ByteClass letters;
  std::array<ByteClass, 2> digits;
  for (const char32_t point : std::u32string_view(U"\"\\")) {
    if (set.contains(point)) letters.push_back(one_byte(static_cast<char>(point)).front());
  }
  for (char32_t point = 0; point < 0x20; ++point) {
    if (!set.contains(point)) continue;
    if (const char letter = short_escape(point)) {
      letters.push_back(one_byte(letter).front());
    } else {
      digits[point >> 4].push_back(one_byte("0123456789abcdef"[point & 15]).front());
    }
  }
  if (!letters.empty()) words.push_back({one_byte('\\'), letters});
  for (std::size_t high = 0; high < digits.size(); ++high) {
    if (digits[high].empty()) continue;
    words.push_back({one_byte('\\'), one_byte('u'), one_byte('0'), one_byte('0'),
                     one_byte(static_cast<char>('0' + high)), digits[high]});
  }
}

/// The escapes that any character may have. Surrogates stand in pairs alone.
void add_free_escapes(std::vector<ByteWord>& words) {
  const ByteClass slash = one_byte('\\');
  const ByteClass u = one_byte('u');
  const ByteClass hex = {byte_range('0', '9'), byte_range('A', 'F'), byte_range('a', 'f')};
  const ByteClass not_d = {byte_range('0', '9'), byte_range('A', 'C'), byte_range('E', 'F'),
                           byte_range('a', 'c'), byte_range('e', 'f')};
  const ByteClass d = {byte_range('D', 'D'), byte_range('d', 'd')};
  const ByteClass high = {byte_range('8', '9'), byte_range('A', 'B'), byte_range('a', 'b')};
  const ByteClass low = {byte_range('C', 'F'), byte_range('c', 'f')};
  words.push_back(
      {slash,
       {byte_range('"', '"'), byte_range('/', '/'), byte_range('\\', '\\'), byte_range('b', 'b'),
        byte_range('f', 'f'), byte_range('n', 'n'), byte_range('r', 'r'), byte_range('t', 't')}});
  words.push_back({slash, u, not_d, hex, hex, hex});
  words.push_back({slash, u, d, {byte_range('0', '7')}, hex, hex});
  words.push_back({slash, u, d, high, hex, hex, slash, u, d, low, hex, hex});
}

}  // namespace

std::vector<ByteWord> spell(const CodePointSet& set, Spelling spelling) {
  std::vector<ByteWord> words;
  if (spelling == Spelling::utf8) {
    add_utf8_words(set, words);
    return words;
  }
  CodePointSet plain = set;
  CodePointSet escaped(0, 0x1F);
  escaped.add('"', '"');
  escaped.add('\\', '\\');
  plain.remove(escaped);
  add_utf8_words(plain, words);
  if (spelling == Spelling::json_any && set == CodePointSet::all()) {
    add_free_escapes(words);
  } else {
    add_needed_escapes(set, words);
  }
  return words;
}

}  // namespace parhelion::text
