#pragma once

#include "exec/cpu/kernels/matmul_kernels.h"

namespace parhelion::exec::cpu {

/// Rows of the tallest tile of pair products.
inline constexpr std::int64_t kDotRows = 14;

/// Whether the processor has products of bf16 pairs on 16 f32 lanes.
bool processor_has_bf16_dot();

/// Register tiles of up to 14 x 32 over pairs, indexed by rows - 1.
const TileFunction* bf16_dot_tiles();

}  // namespace parhelion::exec::cpu
