#pragma once

#include "state/gguf_metadata.h"
#include "state/tensor.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace parhelion::state {

/// What a GGUF file holds. Text and bytes lie in the file.
struct GgufFile {
  GgufMetadata metadata;
  std::vector<TensorView> tensors;  ///< ordered by where their bytes lie
};

/// True if `file` begins as a GGUF file does.
bool is_gguf(std::span<const std::byte> file);

/// Reads a GGUF file, version 2 or 3, that lies in memory; `where` names it in errors. Dimensions
/// are given in row-major order, the reverse of the file's.
///
/// Errors: corrupt if the bytes end early, a name occurs twice, an extent or offset is out of
/// range,
///         or tensors overlap; unsupported for other versions, big-endian files, arrays of arrays
///         and tensor types other than F32, F16, BF16, Q8_0, Q4_0 and Q4_1.
/// Source: the GGUF format, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
GgufFile parse_gguf(std::span<const std::byte> file, std::string_view where);

}  // namespace parhelion::state
