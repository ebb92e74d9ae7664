#pragma once

#include "exec/cuda/kernels/head_turn.h"

#include <array>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// What happens to the rows of one tensor of heads: norm, then rope, then storing, with the bits of
/// rms_norm, rope and page_write run one after the other. y may be x.
struct HeadTask {
  const void* x = nullptr;                 ///< [rows, d]
  const void* w = nullptr;                 ///< [d]; null: rows are not normed
  void* y = nullptr;                       ///< [rows, d], or [capacity, heads, d] by location
  const std::int64_t* location = nullptr;  ///< [rows / heads]; null: y has the rows of x
  std::int64_t capacity = 0;               ///< a location outside [0, capacity) writes nothing
  std::int64_t rows = 0;
  HeadTurn turn = {};  ///< its heads are those of a token, turned or not
  float eps = 1e-6f;
};

inline constexpr std::size_t kMostHeadTasks = 4;

/// Several such tensors in one launch. All are aligned to 16 bytes.
struct HeadRows {
  ir::Kind kind = ir::Kind::f32;  ///< f32 or bf16, of x, w and y
  std::int64_t d = 0;             ///< as can_turn_rows asks
  std::array<HeadTask, kMostHeadTasks> tasks = {};
  std::size_t task_count = 0;
};
void head_rows(const HeadRows& args, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
