#include "text/byte_level.h"

#include "text/utf8.h"

#include <array>

namespace parhelion::text {
namespace {

constexpr char32_t kAlphabetEnd = 0x100 + 68;  // 68 bytes have no printable character of their own

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// The byte of each character of the alphabet, or -1.
constexpr std::array<std::int16_t, kAlphabetEnd> make_byte_of_character() {
  std::array<std::int16_t, kAlphabetEnd> bytes{};
  for (auto& byte : bytes) byte = -1;
  std::size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const std::size_t character = stands_for_itself(byte) ? static_cast<std::size_t>(byte) : next++;
    bytes[character] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}

constexpr auto kByteOfCharacter = make_byte_of_character();

}  // namespace

SpelledToken read_token(std::string_view text, std::string& storage) {
  storage.clear();
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_valid(text.data() + at);
    if (point.value >= kAlphabetEnd || kByteOfCharacter[point.value] < 0) {
      return {TokenSpelling::literal, text};
    }
    storage += static_cast<char>(static_cast<unsigned char>(kByteOfCharacter[point.value]));
    at += point.bytes;
  }
  return {TokenSpelling::byte_level, storage};
}

}  // namespace parhelion::text
