#pragma once

#include "base/bf16.h"
#include "ir/element.h"
#include "ir/ops/update.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// Operands of ir::AdamUpdate. Tensors are updated in place. With a master it is p, and the op's p
/// is its copy.
struct AdamUpdate {
  ir::AdamUpdate op;
  ir::Kind kind = ir::Kind::f32;         ///< of p
  ir::Kind moment_kind = ir::Kind::f32;  ///< of m and v
  void* p = nullptr;                     ///< [count]
  const float* g = nullptr;              ///< [count]
  void* m = nullptr;                     ///< [count]
  void* v = nullptr;                     ///< [count]
  void* v_max = nullptr;                 ///< [count], of moment_kind; null without amsgrad
  BFloat16* copy = nullptr;              ///< [count]; where p is a master, else null
  const float* scale = nullptr;
  const float* lr = nullptr;
  const float* correction = nullptr;  ///< [2]
  const std::uint64_t* seed = nullptr;
  std::int64_t count = 0;
};
void adam_update(const AdamUpdate& args, int threads);

/// Operands of ir::SgdUpdate, as those of AdamUpdate.
struct SgdUpdate {
  ir::SgdUpdate op;
  ir::Kind kind = ir::Kind::f32;           ///< of p
  ir::Kind momentum_kind = ir::Kind::f32;  ///< of b
  void* p = nullptr;                       ///< [count]
  const float* g = nullptr;                ///< [count]
  void* b = nullptr;                       ///< [count]; null without momentum
  BFloat16* copy = nullptr;                ///< [count]; where p is a master, else null
  const float* scale = nullptr;
  const float* lr = nullptr;
  const float* gain = nullptr;
  const std::uint64_t* seed = nullptr;
  std::int64_t count = 0;
};
void sgd_update(const SgdUpdate& args, int threads);

}  // namespace parhelion::exec::cpu
