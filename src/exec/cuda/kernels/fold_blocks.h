#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// acc[c] += the sum of partial[b, c] over b, in an order that follows from the number of blocks:
/// 32 sums of every 32nd block ascending, those ascending.
struct FoldBlocks {
  const float* partial = nullptr;  ///< [blocks, cols]
  float* acc = nullptr;            ///< [cols]
  std::int64_t blocks = 0;
  std::int64_t cols = 0;
  const bool* gate = nullptr;  ///< null: always
};
void fold_blocks(const FoldBlocks& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
