#include "train/track/event_record.h"

#include <array>
#include <bit>
#include <cmath>

namespace parhelion::train {
namespace {

/// The remainders of one byte for CRC-32C (Castagnoli), reflected.
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1u) != 0u ? 0x82F63B78u : 0u);
    table[byte] = rest;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrcTable = crc_table();

/// CRC-32C, rotated and offset as TFRecord has it.
std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFFu];
  }
  return std::rotr(~crc, 15) + 0xA282EAD8u;
}

template <class Unsigned>
std::string little_endian(Unsigned value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
    bytes += static_cast<char>((value >> (8 * i)) & 0xFFu);
  }
  return bytes;
}

std::string framed(std::string_view data) {
  const std::string length = little_endian(std::uint64_t{data.size()});
  return length + little_endian(masked_crc(length)) + std::string(data) +
         little_endian(masked_crc(data));
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7Fu) | 0x80u);
  return bytes + static_cast<char>(value);
}

// The wire types of protobuf, each behind the key of its field.

std::string integer_field(std::uint32_t field, std::int64_t value) {
  if (value == 0) return {};  // the default, which is not written
  return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}
std::string double_field(std::uint32_t field, double value) {
  return varint(field << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string bytes_field(std::uint32_t field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}
std::string float_field(std::uint32_t field, float value) {
  return varint(field << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value));
}

/// Event: wall_time = 1, step = 2, and then what happened.
std::string event(EventTime time, std::int64_t step, const std::string& what) {
  return framed(double_field(1, unix_seconds(time)) + integer_field(2, step) + what);
}

}  // namespace

std::string version_record(EventTime time) {
  return event(time, 0, bytes_field(3, "brain.Event:2"));
}

std::string session_start_record(EventTime time, std::int64_t step) {
  constexpr std::int64_t kStart = 1;
  return event(time, step, bytes_field(7, integer_field(1, kStart)));
}

std::string text_record(EventTime time, std::string_view tag, std::string_view text) {
  constexpr std::int64_t kString = 7;
  const std::string shape = bytes_field(2, integer_field(1, 1));  // one dim of size 1
  const std::string tensor =
      integer_field(1, kString) + bytes_field(2, shape) + bytes_field(8, text);
  const std::string plugin = bytes_field(1, bytes_field(1, "text"));
  const std::string value = bytes_field(1, tag) + bytes_field(8, tensor) + bytes_field(9, plugin);
  return event(time, 0, bytes_field(5, bytes_field(1, value)));
}

std::string scalars_record(const StepRecord& record) {
  std::string summary;
  for (const Metric& metric : record.metrics) {
    if (!std::isfinite(metric.value)) continue;
    const std::string value =
        bytes_field(1, metric.name) + float_field(2, static_cast<float>(metric.value));
    summary += bytes_field(1, value);
  }
  if (summary.empty()) return {};
  return event(record.time, record.step, bytes_field(5, summary));
}

}  // namespace parhelion::train
