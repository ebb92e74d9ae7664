#pragma once

#include "ir/element.h"

#include <cstddef>
#include <span>

namespace parhelion::state {

/// True if `convert` accepts this pair: equal kinds; or from f32, bf16, f16 or a quantised kind to
/// f32, bf16 or f16.
bool can_convert(ir::Kind from, ir::Kind to);

/// Writes the elements of `in`, which has kind `from`, to `out` as kind `to`. Both may have any
/// alignment and must not overlap.
///
/// Numerics: widening is exact; a quantised element is the f32 product of scale and integer, plus
///           the minimum, as its format defines; narrowing rounds to nearest, ties to even, and
///           overflows to infinity. NaN stays NaN.
/// Errors:   unsupported for other pairs; invalid if `in` is not whole blocks or `out` has another
///           number of elements.
/// Threads:  any; much is done on all processors at once.
void convert(ir::Kind from, std::span<const std::byte> in, ir::Kind to, std::span<std::byte> out);

}  // namespace parhelion::state
