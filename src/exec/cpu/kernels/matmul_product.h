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

/// Where panels of b are packed to, and in which form.
struct RightTarget {
  PackFunction pack = nullptr;
  std::byte* first = nullptr;
  std::int64_t distance = 0;  // bytes from one panel to the next
};

/// Packs the terms `depth` of b's tile columns `columns`.
void pack_right(const MatmulKernels& kernels, const MatrixView& b, Range columns, Range depth,
                const RightTarget& target);

}  // namespace parhelion::exec::cpu
