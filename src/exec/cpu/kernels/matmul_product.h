#pragma once

#include "exec/cpu/kernels/matmul.h"
#include "exec/cpu/kernels/matmul_blocking.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// One product, ready to run.
struct MatmulProduct {
  const MatmulArgs* args = nullptr;
  MatmulBlocking blocking;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// Computes what the `index`-th thread of the grid owns.
void multiply_share(const MatmulProduct& product, std::int64_t index);

/// Packs the terms `depth` of b's tile columns `columns` to `panels`, which lie `panel_bytes`
/// apart.
void pack_right(const MatmulKernels& kernels, const MatrixView& b, Range columns, Range depth,
                std::byte* panels, std::int64_t panel_bytes);

}  // namespace parhelion::exec::cpu
