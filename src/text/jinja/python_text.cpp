#include "text/jinja/python_text.h"

#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace parhelion::text::jinja {
namespace {

/// White space of `str.isspace`: the property White_Space and the four separators of ASCII.
bool is_python_space(std::string_view character) {
  const char c = character[0];
  if (c >= '\x1C' && c <= '\x1F') return true;
  return (flags_at(character.data()).flags & unicode::kSpace) != 0;
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, decode_valid(text.data()).bytes);
}

std::string_view last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return text.substr(at);
}

template <class IsDropped>
std::string_view drop_left(std::string_view text, const IsDropped& is_dropped) {
  while (!text.empty() && is_dropped(first_character(text))) {
    text.remove_prefix(first_character(text).size());
  }
  return text;
}

template <class IsDropped>
std::string_view drop_right(std::string_view text, const IsDropped& is_dropped) {
  while (!text.empty() && is_dropped(last_character(text))) {
    text.remove_suffix(last_character(text).size());
  }
  return text;
}

/// Whether `character` is one of `characters`; UTF-8 makes this a search for bytes.
auto is_one_of(std::string_view characters) {
  return [characters](std::string_view character) {
    return characters.find(character) != std::string_view::npos;
  };
}

template <class MapCharacter>
std::string map_characters(std::string_view text, const MapCharacter& map) {
  std::string out;
  for (const std::string_view character : split_characters(text)) {
    const auto point = static_cast<utf8proc_int32_t>(decode_valid(character.data()).value);
    append_utf8(static_cast<char32_t>(map(point)), out);
  }
  return out;
}

/// How many digits an escape of this letter has, or 0.
std::size_t escape_digits(char letter) {
  if (letter == 'x') return 2;
  if (letter == 'u') return 4;
  return letter == 'U' ? 8 : 0;
}

/// Reads the hexadecimal digits of an escape into `out`.
bool read_hex_escape(std::string_view digits, std::size_t count, std::string& out) {
  std::uint32_t value = 0;
  if (digits.size() < count) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + count, value, 16);
  const bool is_scalar = value < 0xD800 || (value >= 0xE000 && value < 0x110000);
  if (error != std::errc() || end != digits.data() + count || !is_scalar) return false;
  append_utf8(static_cast<char32_t>(value), out);
  return true;
}

/// Reads up to three octal digits into `out`; says how many.
std::size_t read_octal_escape(std::string_view digits, std::string& out) {
  std::size_t count = 0;
  std::uint32_t value = 0;
  while (count < 3 && count < digits.size() && digits[count] >= '0' && digits[count] <= '7') {
    value = value * 8 + static_cast<std::uint32_t>(digits[count++] - '0');
  }
  append_utf8(static_cast<char32_t>(value), out);
  return count;
}

/// Reads the escape behind a backslash into `out`; says how many bytes it has, or 0 if it is
/// broken.
std::size_t read_escape(std::string_view escape, std::string& out) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv\n";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  if (escape.empty()) return 0;
  const char letter = escape[0];
  if (const std::size_t digits = escape_digits(letter)) {
    return read_hex_escape(escape.substr(1), digits, out) ? digits + 1 : 0;
  }
  if (letter >= '0' && letter <= '7') return read_octal_escape(escape, out);
  const std::size_t index = kLetters.find(letter);
  if (index == std::string_view::npos) {
    out += '\\';  // unknown escapes stay as they are
    out += letter;
  } else if (letter != '\n') {
    out += kMeanings[index];
  }
  return letter == 'N' ? 0 : 1;
}

}  // namespace

std::string_view strip_left(std::string_view text) { return drop_left(text, is_python_space); }
std::string_view strip_right(std::string_view text) { return drop_right(text, is_python_space); }
std::string_view strip_both(std::string_view text) { return strip_right(strip_left(text)); }

std::string_view strip_left_of(std::string_view text, std::string_view characters) {
  return drop_left(text, is_one_of(characters));
}

std::string_view strip_right_of(std::string_view text, std::string_view characters) {
  return drop_right(text, is_one_of(characters));
}

std::vector<std::string_view> split_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    characters.push_back(first_character(text));
    text.remove_prefix(characters.back().size());
  }
  return characters;
}

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::vector<std::string> split_words(std::string_view text, std::int64_t limit) {
  std::vector<std::string> words;
  for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
    if (limit >= 0 && static_cast<std::int64_t>(words.size()) == limit) {
      words.emplace_back(text);
      break;
    }
    const std::string_view rest =
        drop_left(text, [](std::string_view character) { return !is_python_space(character); });
    words.emplace_back(text.substr(0, text.size() - rest.size()));
    text = rest;
  }
  return words;
}

std::vector<std::string> split_at_each(std::string_view text, std::string_view separator,
                                       std::int64_t limit) {
  std::vector<std::string> parts;
  for (; limit != 0; --limit) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) break;
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

std::vector<std::string> split_at_last(std::string_view text, std::string_view separator,
                                       std::int64_t limit) {
  std::vector<std::string> parts;
  for (; limit != 0; --limit) {
    const std::size_t at = text.rfind(separator);
    if (at == std::string_view::npos) break;
    parts.emplace_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  parts.emplace_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  const auto is_break = [](std::string_view character) {
    const char32_t point = decode_valid(character.data()).value;
    return (point >= 0x0A && point <= 0x0D) || (point >= 0x1C && point <= 0x1E) || point == 0x85 ||
           point == 0x2028 || point == 0x2029;
  };
  while (!text.empty()) {
    const std::string_view rest =
        drop_left(text, [&](std::string_view character) { return !is_break(character); });
    lines.emplace_back(text.substr(0, text.size() - rest.size()));
    text = rest;
    if (!text.empty())
      text.remove_prefix(text.starts_with("\r\n") ? 2 : first_character(text).size());
  }
  return lines;
}

std::string replace_each(std::string_view text, std::string_view from, std::string_view to,
                         std::int64_t limit) {
  std::string out;
  if (from.empty()) {  // before every character and at the end
    for (const std::string_view character : split_characters(text)) {
      if (limit != 0) out += to;
      if (limit > 0) --limit;
      out += character;
    }
    return limit != 0 ? out + std::string(to) : out;
  }
  for (; limit != 0; --limit) {
    const std::size_t at = text.find(from);
    if (at == std::string_view::npos) break;
    out += text.substr(0, at);
    out += to;
    text.remove_prefix(at + from.size());
  }
  return out + std::string(text);
}

std::string to_lower(std::string_view text) { return map_characters(text, utf8proc_tolower); }
std::string to_upper(std::string_view text) { return map_characters(text, utf8proc_toupper); }

std::string to_title(std::string_view text) {
  bool was_letter = false;
  return map_characters(text, [&was_letter](utf8proc_int32_t point) {
    const bool is_letter =
        (search_unicode_flags(static_cast<char32_t>(point)) & unicode::kLetter) != 0;
    const bool is_first = is_letter && !was_letter;
    was_letter = is_letter;
    return is_first ? utf8proc_totitle(point) : utf8proc_tolower(point);
  });
}

std::string to_capitalized(std::string_view text) {
  bool is_first = true;
  return map_characters(text, [&is_first](utf8proc_int32_t point) {
    return std::exchange(is_first, false) ? utf8proc_totitle(point) : utf8proc_tolower(point);
  });
}

namespace {

std::string repeat_fill(std::string_view fill, std::int64_t count) {
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) out += fill;
  return out;
}

}  // namespace

std::string center_text(std::string_view text, std::int64_t width, std::string_view fill) {
  const std::int64_t missing = width - count_characters(text);
  if (missing <= 0) return std::string(text);
  const std::int64_t left = missing / 2 + (missing & width & 1);  // as CPython rounds
  return repeat_fill(fill, left) + std::string(text) + repeat_fill(fill, missing - left);
}

std::string justify_left(std::string_view text, std::int64_t width, std::string_view fill) {
  return std::string(text) + repeat_fill(fill, width - count_characters(text));
}

std::string justify_right(std::string_view text, std::int64_t width, std::string_view fill) {
  return repeat_fill(fill, width - count_characters(text)) + std::string(text);
}

std::string escape_html(std::string_view text) {
  constexpr std::string_view kPlain = "&<>'\"";
  constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  std::string out;
  for (const char c : text) {
    const std::size_t at = kPlain.find(c);
    if (at == std::string_view::npos) {
      out += c;
    } else {
      out += kEntities[at];
    }
  }
  return out;
}

std::optional<std::string> unescape_string(std::string_view body) {
  std::string out;
  for (std::size_t at = 0; at < body.size();) {
    if (body[at] != '\\') {
      out += body[at++];
      continue;
    }
    const std::size_t bytes = read_escape(body.substr(at + 1), out);
    if (bytes == 0) return std::nullopt;
    at += bytes + 1;
  }
  return out;
}

}  // namespace parhelion::text::jinja
