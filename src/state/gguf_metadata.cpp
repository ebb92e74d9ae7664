#include "state/gguf_metadata.h"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

namespace parhelion::state {
namespace {

constexpr std::array<std::string_view, 13> kMetadataTypeNames = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

/// Calls `act.template operator()<T>()` with the C++ type of a plain metadata type.
template <class Act>
auto with_metadata_type(MetadataType type, Act act) {
  switch (type) {
    case MetadataType::u8:
      return act.template operator()<std::uint8_t>();
    case MetadataType::i8:
      return act.template operator()<std::int8_t>();
    case MetadataType::u16:
      return act.template operator()<std::uint16_t>();
    case MetadataType::i16:
      return act.template operator()<std::int16_t>();
    case MetadataType::u32:
      return act.template operator()<std::uint32_t>();
    case MetadataType::i32:
      return act.template operator()<std::int32_t>();
    case MetadataType::f32:
      return act.template operator()<float>();
    case MetadataType::u64:
      return act.template operator()<std::uint64_t>();
    case MetadataType::i64:
      return act.template operator()<std::int64_t>();
    case MetadataType::f64:
      return act.template operator()<double>();
    case MetadataType::boolean:
    case MetadataType::string:
    case MetadataType::array:
      break;
  }
  fail(ErrorKind::bug, "gguf: type {} is not plain", static_cast<std::uint32_t>(type));
}

bool is_text_or_bool(MetadataType type) {
  return type == MetadataType::string || type == MetadataType::boolean;
}

MetadataType read_metadata_type(ByteReader& reader, std::string_view where, std::string_view key) {
  const auto code = reader.read<std::uint32_t>("metadata", key);
  ensure(code < kMetadataTypeNames.size(), ErrorKind::corrupt,
         "{}: metadata '{}': type {} is unknown", where, key, code);
  return static_cast<MetadataType>(code);
}

/// A bool is a byte; only 0 and 1 are values.
bool read_metadata_bool(ByteReader& reader, std::string_view where, std::string_view key) {
  const auto value = reader.read<std::uint8_t>("metadata", key);
  ensure(value <= 1, ErrorKind::corrupt, "{}: metadata '{}': bool has byte {}, expected 0 or 1",
         where, key, value);
  return value == 1;
}

/// Steps over an array's values; a count that the file cannot hold fails at its end, not before.
void skip_metadata_values(ByteReader& reader, std::string_view where, std::string_view key,
                          MetadataType type, std::uint64_t count) {
  if (is_text_or_bool(type)) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (type == MetadataType::string)
        reader.read_string("metadata", key);
      else
        read_metadata_bool(reader, where, key);
    }
    return;
  }
  const std::size_t size = with_metadata_type(type, []<class T>() { return sizeof(T); });
  ensure(count <= reader.left() / size, ErrorKind::corrupt,
         "{}: metadata '{}': has {} values, but only {} bytes are left", where, key, count,
         reader.left());
  reader.take(count * size, "metadata", key);
}

MetadataArray read_metadata_array(ByteReader& reader, std::string_view where,
                                  std::string_view key) {
  const MetadataType type = read_metadata_type(reader, where, key);
  ensure(type != MetadataType::array, ErrorKind::unsupported,
         "{}: metadata '{}': arrays of arrays are not supported", where, key);
  const auto count = reader.read<std::uint64_t>("metadata", key);
  ByteReader values = reader;
  skip_metadata_values(reader, where, key, type, count);
  const auto bytes = values.take(reader.position() - values.position(), "metadata", key);
  return {type, static_cast<std::int64_t>(count), bytes};
}

MetadataValue read_metadata_value(ByteReader& reader, std::string_view where,
                                  std::string_view key) {
  const MetadataType type = read_metadata_type(reader, where, key);
  if (type == MetadataType::string) return reader.read_string("metadata", key);
  if (type == MetadataType::boolean) return read_metadata_bool(reader, where, key);
  if (type == MetadataType::array) return read_metadata_array(reader, where, key);
  return with_metadata_type(
      type, [&]<class T>() -> MetadataValue { return reader.read<T>("metadata", key); });
}

std::optional<std::int64_t> metadata_integer(const MetadataValue& value) {
  return std::visit(
      []<class T>(const T& held) -> std::optional<std::int64_t> {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          if (std::in_range<std::int64_t>(held)) return static_cast<std::int64_t>(held);
        }
        return std::nullopt;
      },
      value);
}

std::optional<double> metadata_number(const MetadataValue& value) {
  return std::visit(
      []<class T>(const T& held) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
          return static_cast<double>(held);
        else
          return std::nullopt;
      },
      value);
}

/// The array's values by `convert`, a function from `MetadataValue`; none if one has no such value.
template <class T>
std::optional<std::vector<T>> metadata_values(const MetadataValue* value,
                                              std::optional<T> (*convert)(const MetadataValue&)) {
  const auto* array = value == nullptr ? nullptr : std::get_if<MetadataArray>(value);
  if (array == nullptr || is_text_or_bool(array->type)) return std::nullopt;
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(array->count));
  ByteReader reader(array->bytes, "array");
  for (std::int64_t i = 0; i < array->count; ++i) {
    const std::optional<T> item = convert(with_metadata_type(
        array->type, [&]<class V>() -> MetadataValue { return reader.read<V>("value", ""); }));
    if (!item) return std::nullopt;
    values.push_back(*item);
  }
  return values;
}

/// What a lookup found, for its error.
std::string found_text(const MetadataValue* value) {
  return value == nullptr ? "missing" : type_text(*value);
}

}  // namespace

std::string type_text(const MetadataValue& value) {
  const auto* array = std::get_if<MetadataArray>(&value);
  if (array == nullptr) return std::string(kMetadataTypeNames[value.index()]);
  return "array of " + std::string(kMetadataTypeNames[static_cast<std::size_t>(array->type)]);
}

GgufMetadata::GgufMetadata(std::string where, std::vector<MetadataEntry> entries)
    : where_(std::move(where)), entries_(std::move(entries)) {
  std::ranges::sort(entries_, {}, &MetadataEntry::first);
  const auto repeated = std::ranges::adjacent_find(entries_, {}, &MetadataEntry::first);
  ensure(repeated == entries_.end(), ErrorKind::corrupt, "{}: metadata '{}' occurs twice", where_,
         repeated == entries_.end() ? "" : repeated->first);
}

const MetadataValue* GgufMetadata::find(std::string_view key) const {
  const auto at = std::ranges::lower_bound(entries_, key, {}, &MetadataEntry::first);
  return at == entries_.end() || at->first != key ? nullptr : &at->second;
}

std::string_view GgufMetadata::string(std::string_view key) const {
  const MetadataValue* value = find(key);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string_view>(value);
  ensure(text != nullptr, ErrorKind::invalid, "{}: metadata '{}' is {}, expected string", where_,
         key, found_text(value));
  return *text;
}

std::int64_t GgufMetadata::integer(std::string_view key) const {
  const MetadataValue* value = find(key);
  const auto integer = value == nullptr ? std::nullopt : metadata_integer(*value);
  ensure(integer.has_value(), ErrorKind::invalid,
         "{}: metadata '{}' is {}, expected integer below 2^63", where_, key, found_text(value));
  return *integer;
}

double GgufMetadata::number(std::string_view key) const {
  const MetadataValue* value = find(key);
  const auto number = value == nullptr ? std::nullopt : metadata_number(*value);
  ensure(number.has_value(), ErrorKind::invalid, "{}: metadata '{}' is {}, expected number", where_,
         key, found_text(value));
  return *number;
}

bool GgufMetadata::boolean(std::string_view key) const {
  const MetadataValue* value = find(key);
  const auto* flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  ensure(flag != nullptr, ErrorKind::invalid, "{}: metadata '{}' is {}, expected bool", where_, key,
         found_text(value));
  return *flag;
}

std::vector<std::string_view> GgufMetadata::strings(std::string_view key) const {
  const MetadataValue* value = find(key);
  const auto* array = value == nullptr ? nullptr : std::get_if<MetadataArray>(value);
  ensure(array != nullptr && array->type == MetadataType::string, ErrorKind::invalid,
         "{}: metadata '{}' is {}, expected array of string", where_, key, found_text(value));
  std::vector<std::string_view> strings(static_cast<std::size_t>(array->count));
  ByteReader reader(array->bytes, where_);
  for (std::string_view& text : strings) text = reader.read_string("metadata", key);
  return strings;
}

std::vector<std::int64_t> GgufMetadata::integers(std::string_view key) const {
  const MetadataValue* value = find(key);
  auto integers = metadata_values<std::int64_t>(value, metadata_integer);
  ensure(integers.has_value(), ErrorKind::invalid,
         "{}: metadata '{}' is {}, expected array of integers below 2^63", where_, key,
         found_text(value));
  return std::move(*integers);
}

std::vector<double> GgufMetadata::numbers(std::string_view key) const {
  const MetadataValue* value = find(key);
  auto numbers = metadata_values<double>(value, metadata_number);
  ensure(numbers.has_value(), ErrorKind::invalid,
         "{}: metadata '{}' is {}, expected array of numbers", where_, key, found_text(value));
  return std::move(*numbers);
}

MetadataEntry read_metadata_entry(ByteReader& reader, std::string_view where) {
  const std::string_view key = reader.read_string("metadata", "key");
  return {key, read_metadata_value(reader, where, key)};
}

}  // namespace parhelion::state
