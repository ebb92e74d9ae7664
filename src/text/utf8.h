#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace parhelion::text {

/// One scalar value and how many bytes it takes in UTF-8.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
};

/// The code point at the start of `text`, which is not empty and is valid UTF-8.
inline CodePoint decode_valid(const char* text) {
  const auto at = [text](int i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  if (at(0) < 0x80) return {at(0), 1};
  if (at(0) < 0xE0) return {(at(0) & 0x1F) << 6 | (at(1) & 0x3F), 2};
  if (at(0) < 0xF0) return {(at(0) & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F), 3};
  return {(at(0) & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F), 4};
}

/// What stands at the start of bytes that may be no UTF-8.
enum class Utf8Status : std::uint8_t {
  complete,    ///< a scalar value
  incomplete,  ///< the beginning of one; the bytes end too early
  ill_formed,  ///< a maximal ill-formed subsequence
};

struct Utf8Step {
  Utf8Status status = Utf8Status::complete;
  std::size_t bytes = 0;
};

/// Reads one step of `bytes`, which is not empty.
///
/// Source: The Unicode Standard, table 3-7 and "U+FFFD Substitution of Maximal Subparts".
Utf8Step read_utf8(std::string_view bytes);

/// The offset of the first byte of `text` that is no UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

/// Appends `code_point` in UTF-8.
void append_utf8(char32_t code_point, std::string& out);

}  // namespace parhelion::text
