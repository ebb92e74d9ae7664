#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>

namespace parhelion::state {

/// Writes `block_count` blocks of a quantised kind as f32 values.
///
/// Errors: bug if `kind` is plain.
void dequantise(ir::Kind kind, const std::byte* blocks, std::int64_t block_count, float* out);

}  // namespace parhelion::state
