#pragma once

#include "state/byte_reader.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace parhelion::state {

/// The type of a GGUF value; the numbers are the format's.
enum class MetadataType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};

/// An array as it lies in the file: `count` values of `type`, each string after its length.
struct MetadataArray {
  MetadataType type = MetadataType::u8;
  std::int64_t count = 0;
  std::span<const std::byte> bytes;
};

/// A value; its alternatives have the order of `MetadataType`.
using MetadataValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
                                   std::uint32_t, std::int32_t, float, bool, std::string_view,
                                   MetadataArray, std::uint64_t, std::int64_t, double>;

/// The value's type as messages print it, such as `u32` or `array of string`.
std::string type_text(const MetadataValue& value);

/// Key and value, with text that lies in the file.
using MetadataEntry = std::pair<std::string_view, MetadataValue>;

/// The keys of a GGUF file and their values, which lie in the file's mapping.
///
/// Errors of the named lookups: invalid if the key is missing or has another type; the message
///         names file, key and expected type. `find` tells whether a key is there.
class GgufMetadata {
 public:
  /// Errors: corrupt if a key occurs twice; `where` names the file.
  GgufMetadata(std::string where, std::vector<MetadataEntry> entries);

  /// Sorted by key.
  std::span<const MetadataEntry> entries() const { return entries_; }
  /// Null if there is no such key.
  const MetadataValue* find(std::string_view key) const;

  std::string_view string(std::string_view key) const;
  /// From any integer type; invalid also from 2^63.
  std::int64_t integer(std::string_view key) const;
  /// From any float or integer type.
  double number(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::vector<std::string_view> strings(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;

 private:
  std::string where_;
  std::vector<MetadataEntry> entries_;
};

/// Reads one key and its value.
///
/// Errors: corrupt if the bytes end within it or its type is none; unsupported for arrays of
/// arrays.
MetadataEntry read_metadata_entry(ByteReader& reader, std::string_view where);

}  // namespace parhelion::state
