#pragma once

#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/logit_key.cuh"

namespace parhelion::exec::cuda {

/// The 32 largest keys that a warp was shown, descending over its lanes; 0 where it was shown
/// fewer. A function of the keys alone, in whatever order they come.
class TopKeys {
 public:
  /// Shows one key a lane; 0 is none.
  __device__ __forceinline__ void show(LogitKey key, int lane) {
    const LogitKey least = __shfl_sync(0xffffffffu, own_, kWarpSize - 1);
    if (!__any_sync(0xffffffffu, key > least)) return;
    sort_ascending(key, lane);
    own_ = max(own_, key);  // the larger halves of a descending and an ascending list
    for (int step = kWarpSize / 2; step > 0; step /= 2)
      own_ = exchange(own_, step, (lane & step) == 0);
  }

  /// The key of this lane's place.
  __device__ __forceinline__ LogitKey own() const { return own_; }
  __device__ __forceinline__ LogitKey at(int place) const {
    return __shfl_sync(0xffffffffu, own_, place);
  }

 private:
  /// The larger or the smaller of this lane's key and that of the lane `step` away.
  static __device__ __forceinline__ LogitKey exchange(LogitKey key, int step, bool is_larger) {
    const LogitKey other = __shfl_xor_sync(0xffffffffu, key, step);
    return is_larger ? max(key, other) : min(key, other);
  }

  /// Bitonic.
  static __device__ __forceinline__ void sort_ascending(LogitKey& key, int lane) {
#pragma unroll
    for (int size = 2; size <= kWarpSize; size *= 2) {
#pragma unroll
      for (int step = size / 2; step > 0; step /= 2) {
        const bool descends = (lane & size) != 0;
        key = exchange(key, step, ((lane & step) == 0) == descends);
      }
    }
  }

  LogitKey own_ = 0;
};

}  // namespace parhelion::exec::cuda
