#pragma once

#include "exec/cpu/kernels/matmul_kernels.h"

namespace parhelion::exec::cpu {

/// Rows of the tallest AMX tile.
inline constexpr std::int64_t kAmxRows = 32;

/// Whether the processor multiplies tiles of bf16 and the operating system lets this process use
/// them, for which it is asked on the first call.
bool processor_has_amx();

/// Register tiles of up to 32 x 32 over rows of a (see amx_pack_rows) and pairs of b, indexed by
/// rows - 1.
///
/// A thread that ran one calls amx_release after its last.
const TileFunction* amx_tiles();

/// Packs bf16 lines as rows: a panel is [ceil(depth / 32)][pitch][32], zero past the depth.
void amx_pack_rows(const PackArgs& args);

/// Gives this thread's tile registers back.
void amx_release();

}  // namespace parhelion::exec::cpu
