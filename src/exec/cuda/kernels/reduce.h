#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

enum class Reduction : std::uint8_t { sum, mean, max };

/// y[r] = x[r, :] reduced, in an order that follows from the columns: 32 sums of every 32nd column
/// where there are few columns, else 1024, each ascending, folded by halves.
///
/// mean is the sum divided by the columns, max of nothing is -infinity.
struct Reduce {
  Reduction how = Reduction::sum;
  const float* x = nullptr;  ///< [rows, cols]
  float* y = nullptr;        ///< [rows]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};
void reduce(const Reduce& args, cudaStream_t stream);

/// acc[c] += sum over r of dy[r, c]: rows in blocks of kAccumulatedRows, each ascending; the sums
/// of blocks as fold_blocks does. All are aligned to 16 bytes.
struct AccumulateRows {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of dy
  const void* dy = nullptr;       ///< [rows, cols]
  float* acc = nullptr;           ///< [cols]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const bool* gate = nullptr;  ///< null: always
};
inline constexpr std::int64_t kAccumulatedRows = 64;
void accumulate_rows(const AccumulateRows& args, std::byte* workspace, cudaStream_t stream);

/// Bytes that accumulate_rows needs.
std::int64_t accumulate_rows_workspace(std::int64_t rows, std::int64_t cols);

}  // namespace parhelion::exec::cuda
