#include "state/safetensors_header.h"

#include "base/error.h"
#include "base/json.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace parhelion::state {
namespace {

static_assert(std::endian::native == std::endian::little, "weight files are little-endian");

struct DtypeRow {
  std::string_view dtype;
  ir::Kind kind;
};

constexpr std::array kDtypes = {DtypeRow{"F64", ir::Kind::f64}, DtypeRow{"F32", ir::Kind::f32},
                                DtypeRow{"F16", ir::Kind::f16}, DtypeRow{"BF16", ir::Kind::bf16},
                                DtypeRow{"I64", ir::Kind::i64}, DtypeRow{"I32", ir::Kind::i32},
                                DtypeRow{"I8", ir::Kind::i8},   DtypeRow{"U64", ir::Kind::u64},
                                DtypeRow{"U8", ir::Kind::u8},   DtypeRow{"BOOL", ir::Kind::bool8}};

/// What names a header entry in errors, and the data its offsets point into.
struct SafetensorsEntry {
  std::string_view where;
  std::string_view name;
  std::span<const std::byte> data;
};

/// The value of `json` as a size.
std::int64_t safetensors_size(const Json& json, const SafetensorsEntry& entry,
                              std::string_view field) {
  const bool fits =
      json.is_integer() && json.as_double(field) >= 0 && json.as_double(field) < 0x1p63;
  ensure(fits, ErrorKind::corrupt, "{}: tensor '{}': {} has {}, expected integers in [0, 2^63)",
         entry.where, entry.name, field, write_json(json));
  return json.as_int64(field);
}

const Json& safetensors_field(const Json& json, const SafetensorsEntry& entry,
                              std::string_view field) {
  const Json* value = json.find(field);
  ensure(value != nullptr, ErrorKind::corrupt, "{}: tensor '{}': {} is missing", entry.where,
         entry.name, field);
  return *value;
}

std::vector<std::int64_t> safetensors_sizes(const Json& json, const SafetensorsEntry& entry,
                                            std::string_view field) {
  const Json& array = safetensors_field(json, entry, field);
  ensure(array.is_array(), ErrorKind::corrupt, "{}: tensor '{}': {} is {}, expected array",
         entry.where, entry.name, field, array.type_name());
  std::vector<std::int64_t> sizes;
  for (const Json& item : array.as_array(field))
    sizes.push_back(safetensors_size(item, entry, field));
  return sizes;
}

ir::Kind safetensors_kind(const Json& json, const SafetensorsEntry& entry) {
  const Json& dtype = safetensors_field(json, entry, "dtype");
  ensure(dtype.is_string(), ErrorKind::corrupt, "{}: tensor '{}': dtype is {}, expected string",
         entry.where, entry.name, dtype.type_name());
  const std::optional<ir::Kind> kind = kind_of_dtype(dtype.as_string("dtype"));
  ensure(kind.has_value(), ErrorKind::unsupported, "{}: tensor '{}': dtype {} is not supported",
         entry.where, entry.name, write_json(dtype));
  return *kind;
}

/// Refuses fields that the format does not have: what they would mean is unknown.
void check_safetensors_fields(const Json& json, const SafetensorsEntry& entry) {
  ensure(json.is_object(), ErrorKind::corrupt, "{}: tensor '{}': is {}, expected object",
         entry.where, entry.name, json.type_name());
  for (const auto& [key, value] : json.as_object(entry.name)) {
    ensure(key == "dtype" || key == "shape" || key == "data_offsets", ErrorKind::corrupt,
           "{}: tensor '{}': field '{}' is unknown", entry.where, entry.name, key);
  }
}

TensorView read_safetensors_entry(const Json& json, const SafetensorsEntry& entry) {
  check_safetensors_fields(json, entry);
  TensorView tensor{std::string(entry.name),
                    safetensors_kind(json, entry),
                    safetensors_sizes(json, entry, "shape"),
                    {},
                    nullptr};
  const auto offsets = safetensors_sizes(json, entry, "data_offsets");
  ensure(offsets.size() == 2 && offsets[0] <= offsets[1], ErrorKind::corrupt,
         "{}: tensor '{}': data_offsets are {}, expected [begin, end] with begin <= end",
         entry.where, entry.name, shape_text(offsets));
  ensure(offsets[1] <= std::ssize(entry.data), ErrorKind::corrupt,
         "{}: tensor '{}': data_offsets are {}, but the file has {} bytes of data", entry.where,
         entry.name, shape_text(offsets), entry.data.size());
  const auto bytes = byte_count(tensor.kind, tensor.shape);
  ensure(bytes == offsets[1] - offsets[0], ErrorKind::corrupt,
         "{}: tensor '{}': data_offsets are {}, but {} {} takes {} bytes", entry.where, entry.name,
         shape_text(offsets), ir::name(tensor.kind), shape_text(tensor.shape),
         bytes ? std::to_string(*bytes) : "more than 2^63");
  tensor.bytes =
      entry.data.subspan(static_cast<std::size_t>(offsets[0]), static_cast<std::size_t>(*bytes));
  return tensor;
}

/// Checks `__metadata__`, whose text is of no use to us.
void check_safetensors_metadata(const Json& json, std::string_view where) {
  ensure(json.is_object(), ErrorKind::corrupt, "{}: __metadata__ is {}, expected object", where,
         json.type_name());
  for (const auto& [key, value] : json.as_object("__metadata__")) {
    ensure(value.is_string(), ErrorKind::corrupt, "{}: __metadata__: '{}' is {}, expected string",
           where, key, value.type_name());
  }
}

/// Orders by place and refuses gaps and overlaps.
void check_safetensors_cover(std::vector<TensorView>& tensors, const SafetensorsEntry& file) {
  const auto begin = [&](const TensorView& t) { return t.bytes.data() - file.data.data(); };
  std::ranges::stable_sort(tensors, [&](const TensorView& a, const TensorView& b) {
    return std::pair(begin(a), a.bytes.size()) < std::pair(begin(b), b.bytes.size());
  });
  std::ptrdiff_t end = 0;
  for (const TensorView& tensor : tensors) {
    ensure(begin(tensor) == end, ErrorKind::corrupt,
           "{}: tensor '{}': its bytes begin at {} of the data, expected {}: tensors {}",
           file.where, tensor.name, begin(tensor), end,
           begin(tensor) < end ? "overlap" : "leave a gap");
    end += std::ssize(tensor.bytes);
  }
  ensure(end == std::ssize(file.data), ErrorKind::corrupt,
         "{}: tensors take {} bytes, but the file has {} bytes of data", file.where, end,
         file.data.size());
}

/// The header's length in bytes, without the eight that tell it.
std::size_t safetensors_header_bytes(std::span<const std::byte> file, std::string_view where) {
  std::uint64_t length = 0;
  ensure(file.size() >= sizeof length, ErrorKind::corrupt,
         "{}: has {} bytes, expected a safetensors file of at least 8", where, file.size());
  std::memcpy(&length, file.data(), sizeof length);
  ensure(length <= static_cast<std::uint64_t>(kSafetensorsHeaderLimit), ErrorKind::corrupt,
         "{}: safetensors header has {} bytes, expected at most {}", where, length,
         kSafetensorsHeaderLimit);
  ensure(length <= file.size() - sizeof length, ErrorKind::corrupt,
         "{}: safetensors header has {} bytes, but the file has {}", where, length, file.size());
  return static_cast<std::size_t>(length);
}

}  // namespace

std::optional<ir::Kind> kind_of_dtype(std::string_view dtype) {
  const auto at = std::ranges::find(kDtypes, dtype, &DtypeRow::dtype);
  if (at == kDtypes.end()) return std::nullopt;
  return at->kind;
}

std::optional<std::string_view> dtype_of_kind(ir::Kind kind) {
  const auto at = std::ranges::find(kDtypes, kind, &DtypeRow::kind);
  if (at == kDtypes.end()) return std::nullopt;
  return at->dtype;
}

std::vector<TensorView> parse_safetensors(std::span<const std::byte> file, std::string_view where) {
  const std::size_t length = safetensors_header_bytes(file, where);
  const auto text = file.subspan(sizeof(std::uint64_t), length);
  const Json header =
      parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, where, {.depth = 4});
  ensure(header.is_object(), ErrorKind::corrupt, "{}: safetensors header is {}, expected object",
         where, header.type_name());
  SafetensorsEntry entry{where, "", file.subspan(sizeof(std::uint64_t) + length)};
  std::vector<TensorView> tensors;
  for (const auto& [name, json] : header.as_object(where)) {
    if (name == "__metadata__") {
      check_safetensors_metadata(json, where);
      continue;
    }
    entry.name = name;
    tensors.push_back(read_safetensors_entry(json, entry));
  }
  check_safetensors_cover(tensors, entry);
  return tensors;
}

}  // namespace parhelion::state
