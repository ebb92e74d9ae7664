#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace parhelion::ir {

/// What one element, or one block of elements, is stored as.
enum class Kind : std::uint8_t {
  f32,
  bf16,
  f16,
  f64,
  i8,
  u8,
  i32,
  i64,
  u64,
  bool8,
  q8_0,  ///< 32 elements: f16 scale, 32 signed bytes (GGUF)
  q4_0,  ///< 32 elements: f16 scale, 32 nibbles minus 8 (GGUF)
  q4_1,  ///< 32 elements: f16 scale, f16 minimum, 32 nibbles (GGUF)
  q5_0,  ///< 32 elements: f16 scale, 32 numbers of 5 bits minus 16 (GGUF)
  q5_1,  ///< 32 elements: f16 scale, f16 minimum, 32 numbers of 5 bits (GGUF)
  q4_k,  ///< 256 elements: as q4_1 in groups of 32 whose scales have 6 bits (GGUF)
  q5_k,  ///< 256 elements: as q5_1 in groups of 32 whose scales have 6 bits (GGUF)
  q6_k,  ///< 256 elements: numbers of 6 bits minus 32, scales of 8 bits for 16 each (GGUF)
};

/// A storage format: plain kinds have one element per block.
struct Element {
  Kind kind = Kind::f32;
  std::int32_t block_elements = 1;
  std::int32_t block_bytes = 4;
  bool operator==(const Element&) const = default;
};

/// The format of `kind`.
Element element(Kind kind);

/// The kind's name as programs print it, such as `bf16`.
std::string_view name(Kind kind);

/// The kind that `name` prints as `text`, or none.
std::optional<Kind> kind_from_name(std::string_view text);

/// True for one element per block.
bool is_plain(Kind kind);

/// True for kinds of real numbers, quantised ones included.
bool is_real(Kind kind);

}  // namespace parhelion::ir
