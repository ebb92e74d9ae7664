#pragma once

#include "exec/cuda/kernels/common.cuh"

#include <algorithm>

namespace parhelion::exec::cuda {

inline constexpr int kRowCopyThreads = 256;

/// Calls `body` with a value of the widest unit of which rows of `bytes` are whole numbers; rows
/// then begin aligned to it.
template <class Body>
void with_row_unit(std::int64_t bytes, Body body) {
  if (bytes % 16 == 0) {
    body(uint4{});
  } else if (bytes % 4 == 0) {
    body(std::uint32_t{});
  } else {
    body(std::uint16_t{});
  }
}

inline std::int64_t row_bytes(ir::Kind kind, std::int64_t columns) {
  return columns * (kind == ir::Kind::bf16 ? 2 : 4);
}

/// Threads of x are units of a row, of y rows.
struct RowGrid {
  dim3 blocks;
  dim3 threads;
};

/// No blocks where rows or units are none.
inline RowGrid row_grid(std::int64_t rows, std::int64_t units) {
  const std::int64_t across = std::clamp<std::int64_t>(units, 1, kRowCopyThreads);
  const std::int64_t down = kRowCopyThreads / across;
  return {.blocks = dim3(units == 0 ? 0 : block_count(rows, down)),
          .threads = dim3(static_cast<unsigned>(across), static_cast<unsigned>(down))};
}

/// The row of this thread.
__device__ __forceinline__ std::int64_t grid_row() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
}

}  // namespace parhelion::exec::cuda
