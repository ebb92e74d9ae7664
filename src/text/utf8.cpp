#include "text/utf8.h"

#include <cstring>

namespace parhelion::text {
namespace {

/// How a sequence goes on after its first byte: its length and the bounds of the second byte.
struct Utf8Lead {
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Utf8Lead utf8_lead(unsigned char byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xC2 || byte > 0xF4) return {.length = 0};
  if (byte < 0xE0) return {.length = 2};
  if (byte == 0xE0) return {.length = 3, .low = 0xA0};
  if (byte == 0xED) return {.length = 3, .high = 0x9F};
  if (byte < 0xF0) return {.length = 3};
  if (byte == 0xF0) return {.length = 4, .low = 0x90};
  if (byte == 0xF4) return {.length = 4, .high = 0x8F};
  return {.length = 4};
}

/// The offset behind the leading bytes that are ASCII, eight at a time.
std::size_t skip_ascii(std::string_view text, std::size_t at) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighBits) != 0) return at;
  }
  return at;
}

}  // namespace

Utf8Step read_utf8(std::string_view bytes) {
  const Utf8Lead lead = utf8_lead(static_cast<unsigned char>(bytes[0]));
  if (lead.length == 0) return {Utf8Status::ill_formed, 1};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {Utf8Status::incomplete, i};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {Utf8Status::ill_formed, i};
  }
  return {Utf8Status::complete, lead.length};
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = skip_ascii(text, 0);
  while (at < text.size()) {
    const Utf8Step step = read_utf8(text.substr(at));
    if (step.status != Utf8Status::complete) return at;
    at += step.bytes;
    if (step.bytes == 1) at = skip_ascii(text, at);
  }
  return std::string_view::npos;
}

void append_utf8(char32_t code_point, std::string& out) {
  const auto put = [&out](char32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    return put(0x80 | (code_point & 0x3F));
  }
  if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
  }
  put(0x80 | (code_point >> 6 & 0x3F));
  put(0x80 | (code_point & 0x3F));
}

}  // namespace parhelion::text
