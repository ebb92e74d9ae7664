#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Elements whose squares are added in f32.
struct NormBlock {
  const float* x = nullptr;  ///< [count], aligned to 16
  std::int64_t count = 0;    ///< at most ir::kSquaredNormBlock
};

/// The blocks of one ir::SquaredNorm.
struct NormItem {
  std::int64_t first_block = 0, block_count = 0;
  float* y = nullptr;  ///< the sum of all its blocks
};

/// Several ir::SquaredNorm. Tables and sums are on the device.
struct SquaredNorms {
  const NormBlock* blocks = nullptr;  ///< [block_count]
  const NormItem* items = nullptr;    ///< [item_count]
  float* block_sums = nullptr;        ///< [block_count], overwritten
  std::int64_t block_count = 0, item_count = 0;
};
/// y of every item, in two launches. Its bits are a function of the item alone.
void squared_norms(const SquaredNorms& args, cudaStream_t stream);

/// Operands of ir::StepScale, one number each.
struct StepScale {
  const float* loss_sum = nullptr;
  const float* weight = nullptr;
  const float* squared_norm = nullptr;
  float* loss = nullptr;
  float* norm = nullptr;
  float* scale = nullptr;
  bool* apply = nullptr;
  float max_norm = 0;
};
void step_scale(const StepScale& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
