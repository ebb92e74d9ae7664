#pragma once

#include <cstdint>
#include <cuda_runtime.h>

namespace parhelion::exec::cuda {

/// A logit's place among those of its row: larger logits are larger keys, of equal ones lower ids.
/// No logit has key 0.
using LogitKey = unsigned long long;

__device__ __forceinline__ LogitKey logit_key(float x, std::int64_t id) {
  const std::uint32_t bits = __float_as_uint(__fadd_rn(x, 0.0f));  // -0 and 0 are equal
  const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return LogitKey{ordered} << 32 | (0xffffffffu - static_cast<std::uint32_t>(id));
}

__device__ __forceinline__ std::int64_t id_of_key(LogitKey key) {
  return 0xffffffffu - static_cast<std::uint32_t>(key);
}

}  // namespace parhelion::exec::cuda
