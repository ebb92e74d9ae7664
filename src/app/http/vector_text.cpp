#include "app/http/embedding_source.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

namespace parhelion::app {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Up to three bytes as four digits.
void write_base64_group(std::span<const unsigned char> bytes, std::string& out) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < bytes.size() ? bytes[i] : 0u);
  for (std::size_t i = 0; i < 4; ++i)
    out += i <= bytes.size() ? kBase64Digits[bits >> (18 - 6 * i) & 63] : '=';
}

void write_base64(std::span<const unsigned char> bytes, std::string& out) {
  for (; bytes.size() > 3; bytes = bytes.subspan(3)) write_base64_group(bytes.first(3), out);
  if (!bytes.empty()) write_base64_group(bytes, out);
}

std::vector<unsigned char> little_endian_bytes(const std::vector<float>& vector) {
  static_assert(std::endian::native == std::endian::little);
  std::vector<unsigned char> bytes(vector.size() * sizeof(float));
  std::memcpy(bytes.data(), vector.data(), bytes.size());
  return bytes;
}

}  // namespace

void fit_vector(std::int64_t dimension, bool normalises, std::vector<float>& vector) {
  vector.resize(static_cast<std::size_t>(dimension));
  if (!normalises) return;
  double squares = 0;
  for (const float value : vector)
    squares += static_cast<double>(value) * static_cast<double>(value);
  if (squares == 0) return;
  const double scale = 1 / std::sqrt(squares);
  for (float& value : vector) value = static_cast<float>(static_cast<double>(value) * scale);
}

void write_vector(const std::vector<float>& vector, VectorText text, std::string& out) {
  if (text == VectorText::base64) {
    out += '"';
    write_base64(little_endian_bytes(vector), out);
    out += '"';
    return;
  }
  out += fmt::format("[{}]", fmt::join(vector, ","));
}

}  // namespace parhelion::app
