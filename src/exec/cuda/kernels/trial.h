#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// A matrix of random numbers in [-1, 1) which repeats itself.
struct TrialMatrix {
  ir::Kind kind = ir::Kind::f32;
  void* data = nullptr;  ///< [rows, columns]
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_period = 0, column_period = 0;
  std::uint32_t seed = 0;
};
void fill_trial(const TrialMatrix& matrix, cudaStream_t stream);

/// Adds to `*differences` how many elements of `rows` rows have other bits than the row of
/// `expected` at their number modulo `period`.
struct TrialComparison {
  ir::Kind kind = ir::Kind::f32;
  const void* expected = nullptr;  ///< [period, columns]
  const void* actual = nullptr;    ///< [rows, columns]
  std::int64_t rows = 0, columns = 0, period = 0;
  unsigned* differences = nullptr;
};
void compare_trial(const TrialComparison& comparison, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
