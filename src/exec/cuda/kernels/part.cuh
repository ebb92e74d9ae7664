#pragma once

namespace parhelion::exec::cuda {

/// `count` elements that one thread moves in accesses of at most 16 bytes.
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) Part {
  T at[count];
};

template <int count, class T>
__device__ __forceinline__ Part<T, count> load_part(const T* x) {
  return *reinterpret_cast<const Part<T, count>*>(x);
}

template <class T, int count>
__device__ __forceinline__ void store_part(T* x, const Part<T, count>& part) {
  *reinterpret_cast<Part<T, count>*>(x) = part;
}

}  // namespace parhelion::exec::cuda
