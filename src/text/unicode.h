#pragma once

#include "text/unicode_ranges.h"
#include "text/utf8.h"

#include <array>
#include <cstdint>

namespace parhelion::text {

/// What a code point is, as a set of flags.
namespace unicode {
inline constexpr std::uint8_t kLetter = 1;     ///< general category L
inline constexpr std::uint8_t kMark = 2;       ///< general category M
inline constexpr std::uint8_t kNumber = 4;     ///< general category N
inline constexpr std::uint8_t kSpace = 8;      ///< property White_Space
inline constexpr std::uint8_t kWord = 16;      ///< forbids the end of a single-word token before it
inline constexpr std::uint8_t kUnstable = 32;  ///< may make a text differ from its NFC form
inline constexpr std::uint8_t kDigit = 64;     ///< what the Digits pre-tokeniser sets apart
inline constexpr int kFlagBits = 7;
}  // namespace unicode

/// The flags of any code point, by binary search.
std::uint8_t search_unicode_flags(char32_t code_point);

namespace unicode {
constexpr std::array<std::uint8_t, 128> make_ascii_flags() {
  std::array<std::uint8_t, 128> flags{};
  std::size_t run = 0;
  for (std::uint32_t c = 0; c < flags.size(); ++c) {
    while (kUnicodeRuns[run + 1] >> kFlagBits <= c) ++run;
    flags[c] = kUnicodeRuns[run] & ((1U << kFlagBits) - 1);
  }
  return flags;
}
inline constexpr std::array<std::uint8_t, 128> kAsciiFlags = make_ascii_flags();
}  // namespace unicode

/// The flags of a code point and how many bytes it takes.
struct FlagsAt {
  std::uint8_t flags = 0;
  std::size_t bytes = 0;
};

/// What stands at the start of `text`, which is not empty and is valid UTF-8.
inline FlagsAt flags_at(const char* text) {
  const auto byte = static_cast<unsigned char>(*text);
  if (byte < 0x80) return {unicode::kAsciiFlags[byte], 1};
  const CodePoint point = decode_valid(text);
  return {search_unicode_flags(point.value), point.bytes};
}

}  // namespace parhelion::text
