#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::text::jinja {

/// Strings as Python treats them. All are valid UTF-8; positions and counts are in code points.

/// Without the white space at one end or both.
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);
std::string_view strip_both(std::string_view text);
/// Without those of `characters` at the start or at the end.
std::string_view strip_left_of(std::string_view text, std::string_view characters);
std::string_view strip_right_of(std::string_view text, std::string_view characters);

/// Each code point as a string of its own.
std::vector<std::string_view> split_characters(std::string_view text);
std::int64_t count_characters(std::string_view text);

/// What `text.split()` gives: words between white space, at most `limit` cuts unless negative.
std::vector<std::string> split_words(std::string_view text, std::int64_t limit);
/// What `text.split(separator)` gives, from the left or from the right.
std::vector<std::string> split_at_each(std::string_view text, std::string_view separator,
                                       std::int64_t limit);
std::vector<std::string> split_at_last(std::string_view text, std::string_view separator,
                                       std::int64_t limit);
std::vector<std::string> split_lines(std::string_view text);

/// What `text.replace(from, to, limit)` gives.
std::string replace_each(std::string_view text, std::string_view from, std::string_view to,
                         std::int64_t limit);

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
/// The first letter of each word in upper case, as `str.title`.
std::string to_title(std::string_view text);
/// The first letter in upper case, the rest in lower case.
std::string to_capitalized(std::string_view text);

/// Text in the middle, left or right of `width` characters, filled with blanks or with `fill`.
std::string center_text(std::string_view text, std::int64_t width, std::string_view fill = " ");
std::string justify_left(std::string_view text, std::int64_t width, std::string_view fill = " ");
std::string justify_right(std::string_view text, std::int64_t width, std::string_view fill = " ");

/// With the five characters that HTML gives a meaning as entities.
std::string escape_html(std::string_view text);

/// The value of a string literal without its quotes, or nothing if an escape is broken.
std::optional<std::string> unescape_string(std::string_view body);

}  // namespace parhelion::text::jinja
