#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// y = a + b or a * b of single numbers.
struct ScalarStep {
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  std::int16_t a_step = -1;  ///< the earlier step of this launch that makes a; -1: it is in memory
  std::int16_t b_step = -1;  ///< the same of b
  bool is_product = false;
  bool is_last = true;  ///< no later step of this launch writes to y
};

/// Steps of one launch.
inline constexpr std::int64_t kMostScalarSteps = 1024;

/// Runs `count` steps in order, in one launch.
///
/// Shapes: steps [count], on the device; count <= kMostScalarSteps
void run_scalar_steps(const ScalarStep* steps, std::int64_t count, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
