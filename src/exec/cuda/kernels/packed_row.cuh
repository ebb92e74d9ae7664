#pragma once

#include "exec/cuda/kernels/row_shape.cuh"

#include <cstring>

namespace parhelion::exec::cuda {

/// A thread's packs of a row as the words that they were loaded as. `open` unpacks them anew each
/// time: a compiler that keeps the elements of several phases apart needs twice the registers.
template <class T, class Shape>
struct PackedRow {
  uint4 words[Shape::kPacks];

  /// Zeros behind the row's end or where it is not `live`.
  __device__ __forceinline__ void load(const T* row, int packs, bool live) {
#pragma unroll
    for (int i = 0; i < Shape::kPacks; ++i) {
      const int at = row_lane<Shape>() + i * Shape::kThreads;
      words[i] =
          live && at < packs ? reinterpret_cast<const uint4*>(row)[at] : make_uint4(0, 0, 0, 0);
    }
  }

  __device__ __forceinline__ void open(Pack<T> (&out)[Shape::kPacks]) {
#pragma unroll
    for (int i = 0; i < Shape::kPacks; ++i) {
      uint4& each = words[i];
      asm volatile("" : "+r"(each.x), "+r"(each.y), "+r"(each.z), "+r"(each.w));
      memcpy(&out[i], &each, sizeof each);
    }
  }

  __device__ __forceinline__ void set(int i, const Pack<T>& pack) {
    memcpy(&words[i], &pack, sizeof pack);
  }
};

}  // namespace parhelion::exec::cuda
