#pragma once

#include "ir/element.h"

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace parhelion::exec::cuda {

/// Operands and attributes of one ir::AdamUpdate; tensors are updated in place, aligned to 16. With
/// a master it is p, and the op's p is its copy.
struct AdamItem {
  void* p = nullptr;              ///< [count], of `kind`
  const float* g = nullptr;       ///< [count]
  void* m = nullptr;              ///< [count], of `moment_kind`
  void* v = nullptr;              ///< [count], of `moment_kind`
  void* v_max = nullptr;          ///< [count], of `moment_kind`; null without amsgrad
  __nv_bfloat16* copy = nullptr;  ///< [count]; where p is a master, else null
  const float* scale = nullptr;
  const float* lr = nullptr;
  const float* correction = nullptr;  ///< [2]
  const std::uint64_t* seed = nullptr;
  std::int64_t count = 0;
  std::int64_t tag = 0;
  double lr_scale = 1, weight_decay = 0;
  float keep_1 = 0, take_1 = 0, keep_2 = 0, take_2 = 0, eps = 0;
  ir::Kind kind = ir::Kind::f32, moment_kind = ir::Kind::f32;
  bool decoupled = true, amsgrad = false, master = false, stochastic = false;
};

/// Operands and attributes of one ir::SgdUpdate, as those of AdamItem.
struct SgdItem {
  void* p = nullptr;              ///< [count], of `kind`
  const float* g = nullptr;       ///< [count]
  void* b = nullptr;              ///< [count], of `momentum_kind`; null without momentum
  __nv_bfloat16* copy = nullptr;  ///< [count]; where p is a master, else null
  const float* scale = nullptr;
  const float* lr = nullptr;
  const float* gain = nullptr;
  const std::uint64_t* seed = nullptr;
  std::int64_t count = 0;
  std::int64_t tag = 0;
  double lr_scale = 1;
  float weight_decay = 0, momentum = 0;
  ir::Kind kind = ir::Kind::f32, momentum_kind = ir::Kind::f32;
  bool nesterov = false, has_momentum = false, master = false, stochastic = false;
};

/// Part of an item that one block updates, at most kUpdateChunk elements.
struct UpdateChunk {
  std::int64_t item = 0;
  std::int64_t first = 0;
};
inline constexpr std::int64_t kUpdateChunk = 16384;

/// Items of updates and their chunks, both on the device; `gate` null: always.
template <class Item>
struct UpdateTable {
  const Item* items = nullptr;
  const UpdateChunk* chunks = nullptr;
  std::int64_t chunk_count = 0;
  const bool* gate = nullptr;
};

/// Updates all items in one launch, with the arithmetic of the CPU's kernels.
void update(const UpdateTable<AdamItem>& table, cudaStream_t stream);
void update(const UpdateTable<SgdItem>& table, cudaStream_t stream);

}  // namespace parhelion::exec::cuda
