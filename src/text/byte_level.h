#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace parhelion::text {

/// How a token of a vocabulary was written.
enum class TokenSpelling : std::uint8_t {
  byte_level,  ///< in the alphabet of 256 characters that stand for one byte each
  literal,     ///< with other characters; it stands for its own UTF-8
};

struct SpelledToken {
  TokenSpelling spelling = TokenSpelling::literal;
  std::string_view bytes;  ///< what it stands for; in the storage or in the text itself
};

/// Reads one token of a byte-level vocabulary, which must be valid UTF-8.
///
/// Source: the byte-to-unicode table of GPT-2's encoder; printable bytes of Latin-1 stand for
/// themselves, the rest are U+0100 and up in order.
SpelledToken read_token(std::string_view text, std::string& storage);

}  // namespace parhelion::text
