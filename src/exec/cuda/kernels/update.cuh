#pragma once

#include "exec/cuda/kernels/common.cuh"
#include "exec/cuda/kernels/philox.cuh"

#include <type_traits>

namespace parhelion::exec::cuda {

/// Elements that one thread updates at once: those whose noise is drawn together.
inline constexpr int kUpdateGroup = kNoiseGroup;
using UpdateGroup = float[kUpdateGroup];

/// x = the group at `from`; what lies past `count` is zero.
template <class T>
__device__ __forceinline__ void load_group(const T* from, std::int64_t count, UpdateGroup& x) {
  constexpr int kPack = Pack<T>::kCount;
  if (count >= kUpdateGroup) {
#pragma unroll
    for (int i = 0; i < kUpdateGroup; i += kPack) {
      const auto pack = *reinterpret_cast<const Pack<T>*>(from + i);
#pragma unroll
      for (int j = 0; j < kPack; ++j) x[i + j] = to_float(pack.at[j]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kUpdateGroup; ++i) x[i] = i < count ? to_float(from[i]) : 0.0f;
}

template <class T>
__device__ __forceinline__ void store_group(const UpdateGroup& x, std::int64_t count, T* to) {
  constexpr int kPack = Pack<T>::kCount;
  if (count >= kUpdateGroup) {
#pragma unroll
    for (int i = 0; i < kUpdateGroup; i += kPack) {
      Pack<T> pack;
#pragma unroll
      for (int j = 0; j < kPack; ++j) pack.at[j] = from_float<T>(x[i + j]);
      *reinterpret_cast<Pack<T>*>(to + i) = pack;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kUpdateGroup; ++i) {
    if (i < count) to[i] = from_float<T>(x[i]);
  }
}

/// Where a group's noise comes from.
struct UpdateNoise {
  std::uint64_t seed;
  std::int64_t tag;
  std::int64_t group;
};

/// Rounds to bf16 up or down with the odds that keep the mean: noise below the kept bits carries
/// into them, the rest is cut off. Numbers that are not finite stay.
template <class T, bool stochastic>
__device__ __forceinline__ void round_group(UpdateGroup& x, const UpdateNoise& from) {
  if constexpr (stochastic && !std::is_same_v<T, float>) {
    std::uint32_t noise[kUpdateGroup];
    noise_group(from.seed, static_cast<std::uint64_t>(from.tag), from.group, noise);
#pragma unroll
    for (int i = 0; i < kUpdateGroup; ++i) {
      const std::uint32_t bits = __float_as_uint(x[i]);
      const bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
      if (is_finite) x[i] = __uint_as_float((bits + noise[i]) & 0xffff0000u);
    }
  }
}

/// The threads of a block that updates one chunk.
inline constexpr int kUpdateThreads = 256;

/// Calls body(first element, elements left) for each group of a chunk that is this thread's.
template <class Body>
__device__ __forceinline__ void for_update_groups(std::int64_t first, std::int64_t end,
                                                  const Body& body) {
  for (std::int64_t i = first + threadIdx.x * std::int64_t{kUpdateGroup}; i < end;
       i += kUpdateThreads * kUpdateGroup)
    body(i, end - i);
}

}  // namespace parhelion::exec::cuda
