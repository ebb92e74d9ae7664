#pragma once

#include "ir/element.h"
#include "state/tensor.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace parhelion::state {

/// Longest header that is read or written, in bytes.
inline constexpr std::int64_t kSafetensorsHeaderLimit = 100'000'000;

/// The tensors of a safetensors file that lies in memory, ordered by where their bytes lie.
/// The views borrow `file`; `where` names it in errors.
///
/// Errors: corrupt if the header breaks the format: too long, no JSON, a repeated name, offsets
/// that
///         leave gaps, overlap or pass the end, or a byte count that the kind and shape contradict;
///         unsupported if a tensor has a dtype that no `ir::Kind` stands for.
/// Source: the safetensors format, https://github.com/huggingface/safetensors
std::vector<TensorView> parse_safetensors(std::span<const std::byte> file, std::string_view where);

/// The kind that the format calls `dtype`, such as `BF16`, or none.
std::optional<ir::Kind> kind_of_dtype(std::string_view dtype);

/// The format's name for `kind`, or none for kinds it cannot hold.
std::optional<std::string_view> dtype_of_kind(ir::Kind kind);

}  // namespace parhelion::state
