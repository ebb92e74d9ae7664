#include "state/gguf_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace parhelion::state {
namespace {

constexpr std::uint32_t kGgufMagic = 0x46554747;  // "GGUF"
constexpr std::uint32_t kGgufAlignment = 32;
constexpr std::uint32_t kGgufMostDims = 4;

/// A tensor type of the format; `kind` is absent for those that are not read.
struct GgmlType {
  std::uint32_t code;
  std::string_view name;
  std::optional<ir::Kind> kind;
};

constexpr std::array kGgmlTypes = {
    GgmlType{0, "F32", ir::Kind::f32},     GgmlType{1, "F16", ir::Kind::f16},
    GgmlType{2, "Q4_0", ir::Kind::q4_0},   GgmlType{3, "Q4_1", ir::Kind::q4_1},
    GgmlType{6, "Q5_0", ir::Kind::q5_0},   GgmlType{7, "Q5_1", ir::Kind::q5_1},
    GgmlType{8, "Q8_0", ir::Kind::q8_0},   GgmlType{9, "Q8_1", std::nullopt},
    GgmlType{10, "Q2_K", std::nullopt},    GgmlType{11, "Q3_K", std::nullopt},
    GgmlType{12, "Q4_K", ir::Kind::q4_k},  GgmlType{13, "Q5_K", ir::Kind::q5_k},
    GgmlType{14, "Q6_K", ir::Kind::q6_k},  GgmlType{15, "Q8_K", std::nullopt},
    GgmlType{16, "IQ2_XXS", std::nullopt}, GgmlType{17, "IQ2_XS", std::nullopt},
    GgmlType{18, "IQ3_XXS", std::nullopt}, GgmlType{19, "IQ1_S", std::nullopt},
    GgmlType{20, "IQ4_NL", std::nullopt},  GgmlType{21, "IQ3_S", std::nullopt},
    GgmlType{22, "IQ2_S", std::nullopt},   GgmlType{23, "IQ4_XS", std::nullopt},
    GgmlType{24, "I8", std::nullopt},      GgmlType{25, "I16", std::nullopt},
    GgmlType{26, "I32", std::nullopt},     GgmlType{27, "I64", std::nullopt},
    GgmlType{28, "F64", std::nullopt},     GgmlType{29, "IQ1_M", std::nullopt},
    GgmlType{30, "BF16", ir::Kind::bf16},  GgmlType{34, "TQ1_0", std::nullopt},
    GgmlType{35, "TQ2_0", std::nullopt},   GgmlType{39, "MXFP4", std::nullopt}};

/// A tensor's place before the data section is known.
struct GgufTensorInfo {
  TensorView tensor;
  std::uint64_t offset = 0;
  std::int64_t bytes = 0;
};

ir::Kind kind_of_ggml_type(std::uint32_t code, std::string_view where, std::string_view tensor) {
  const auto at = std::ranges::find(kGgmlTypes, code, &GgmlType::code);
  ensure(at != kGgmlTypes.end(), ErrorKind::unsupported, "{}: tensor '{}': type {} is unknown",
         where, tensor, code);
  ensure(at->kind.has_value(), ErrorKind::unsupported,
         "{}: tensor '{}': type {} is not supported, expected F32, F16, BF16, Q8_0, Q4_0, Q4_1, "
         "Q5_0, Q5_1, Q4_K, Q5_K or Q6_K",
         where, tensor, at->name);
  return *at->kind;
}

/// Extents in row-major order; the file has the innermost first.
Shape read_gguf_shape(ByteReader& reader, std::string_view where, std::string_view tensor) {
  const auto dims = reader.read<std::uint32_t>("tensor", tensor);
  ensure(dims <= kGgufMostDims, ErrorKind::corrupt,
         "{}: tensor '{}': has {} dimensions, expected at most {}", where, tensor, dims,
         kGgufMostDims);
  Shape shape(dims);
  for (std::uint32_t i = 0; i < dims; ++i) {
    const auto extent = reader.read<std::uint64_t>("tensor", tensor);
    ensure(std::in_range<std::int64_t>(extent), ErrorKind::corrupt,
           "{}: tensor '{}': extent {} passes 2^63", where, tensor, extent);
    shape[dims - 1 - i] = static_cast<std::int64_t>(extent);
  }
  return shape;
}

GgufTensorInfo read_gguf_tensor(ByteReader& reader, std::string_view where) {
  GgufTensorInfo info;
  TensorView& tensor = info.tensor;
  tensor.name = reader.read_string("tensor", "name");
  tensor.shape = read_gguf_shape(reader, where, tensor.name);
  tensor.kind =
      kind_of_ggml_type(reader.read<std::uint32_t>("tensor", tensor.name), where, tensor.name);
  info.offset = reader.read<std::uint64_t>("tensor", tensor.name);
  const auto bytes = byte_count(tensor.kind, tensor.shape);
  ensure(bytes.has_value(), ErrorKind::corrupt,
         "{}: tensor '{}': {} {} passes 2^63 bytes or has rows of no whole blocks", where,
         tensor.name, ir::name(tensor.kind), shape_text(tensor.shape));
  info.bytes = *bytes;
  return info;
}

std::uint32_t gguf_alignment(const GgufMetadata& metadata, std::string_view where) {
  constexpr std::string_view kKey = "general.alignment";
  const MetadataValue* value = metadata.find(kKey);
  if (value == nullptr) return kGgufAlignment;
  const auto* alignment = std::get_if<std::uint32_t>(value);
  ensure(alignment != nullptr, ErrorKind::corrupt, "{}: metadata '{}' is {}, expected u32", where,
         kKey, type_text(*value));
  ensure(std::has_single_bit(*alignment), ErrorKind::corrupt,
         "{}: metadata '{}' is {}, expected a power of two", where, kKey, *alignment);
  return *alignment;
}

/// Points the tensor at its bytes in `data`.
TensorView place_gguf_tensor(GgufTensorInfo info, std::span<const std::byte> data,
                             std::uint32_t alignment, std::string_view where) {
  TensorView tensor = std::move(info.tensor);
  ensure(info.offset % alignment == 0, ErrorKind::corrupt,
         "{}: tensor '{}': offset {} is no multiple of {}", where, tensor.name, info.offset,
         alignment);
  const auto bytes = static_cast<std::size_t>(info.bytes);
  ensure(info.offset <= data.size() && bytes <= data.size() - info.offset, ErrorKind::corrupt,
         "{}: tensor '{}': takes {} bytes from {} on, but the file has {} bytes of data", where,
         tensor.name, bytes, info.offset, data.size());
  tensor.bytes = data.subspan(static_cast<std::size_t>(info.offset), bytes);
  return tensor;
}

/// Orders by place and refuses overlaps.
void order_gguf_tensors(std::vector<TensorView>& tensors, std::string_view where) {
  std::ranges::stable_sort(tensors, [](const TensorView& a, const TensorView& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    const TensorView& before = tensors[i - 1];
    ensure(before.bytes.data() + before.bytes.size() <= tensors[i].bytes.data(), ErrorKind::corrupt,
           "{}: tensors '{}' and '{}' overlap", where, before.name, tensors[i].name);
  }
}

void check_gguf_version(std::uint32_t version, std::string_view where) {
  ensure((version & 0xffffu) != 0, ErrorKind::unsupported,
         "{}: is a big-endian GGUF file, expected little-endian", where);
  ensure(version == 2 || version == 3, ErrorKind::unsupported,
         "{}: has GGUF version {}, expected 2 or 3", where, version);
}

}  // namespace

bool is_gguf(std::span<const std::byte> file) {
  return file.size() >= sizeof kGgufMagic &&
         std::memcmp(file.data(), &kGgufMagic, sizeof kGgufMagic) == 0;
}

GgufFile parse_gguf(std::span<const std::byte> file, std::string_view where) {
  ensure(is_gguf(file), ErrorKind::corrupt, "{}: does not begin with GGUF", where);
  ByteReader reader(file, where);
  reader.read<std::uint32_t>("header", "magic");
  check_gguf_version(reader.read<std::uint32_t>("header", "version"), where);
  const auto tensor_count = reader.read<std::uint64_t>("header", "tensor count");
  const auto entry_count = reader.read<std::uint64_t>("header", "metadata count");

  std::vector<MetadataEntry> entries;
  for (std::uint64_t i = 0; i < entry_count; ++i)
    entries.push_back(read_metadata_entry(reader, where));
  GgufFile result{GgufMetadata(std::string(where), std::move(entries)), {}};

  std::vector<GgufTensorInfo> infos;
  for (std::uint64_t i = 0; i < tensor_count; ++i) infos.push_back(read_gguf_tensor(reader, where));

  const std::uint32_t alignment = gguf_alignment(result.metadata, where);
  const std::size_t begin = (reader.position() + alignment - 1) / alignment * alignment;
  const auto data = file.subspan(std::min(begin, file.size()));
  for (GgufTensorInfo& info : infos)
    result.tensors.push_back(place_gguf_tensor(std::move(info), data, alignment, where));
  order_gguf_tensors(result.tensors, where);
  return result;
}

}  // namespace parhelion::state
