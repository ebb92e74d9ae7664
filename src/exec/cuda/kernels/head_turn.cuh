#pragma once

#include "exec/cuda/kernels/head_turn.h"
#include "exec/cuda/kernels/row_shape.cuh"

namespace parhelion::exec::cuda {

/// Turns rows whose packs lie in Shape::kThreads, one each, with the bits of rope.
///
/// It keeps the place of a token's angles, which rows that follow each other find in the caches.
template <class T, class Shape>
class RowTurner {
 public:
  static constexpr int kCount = Pack<T>::kCount;

  /// For a row of `packs` packs, an even number.
  __device__ __forceinline__ RowTurner(const HeadTurn& turn, std::int64_t row, int packs)
      : turn_(turn),
        packs_(packs),
        token_(static_cast<int>(row / turn.heads)),
        head_(static_cast<int>(row % turn.heads)) {}

  /// The pack of the row begun with, then of those after it, once for each in turn. A row that is
  /// not `live` stays as it is. All threads of the warp take part.
  __device__ __forceinline__ Pack<T> next(const Pack<T>& own, bool live) {
    if (live && (head_ == 0 || angles_ == nullptr)) find_angles();
    const Pack<T> other = of_partner(own);
    Pack<T> result = own;
    if (live) result = turned(own, other);
    if (++head_ == turn_.heads) {
      head_ = 0;
      ++token_;
    }
    return result;
  }

 private:
  __device__ __forceinline__ bool is_low() const { return row_lane<Shape>() < packs_ / 2; }

  __device__ __forceinline__ void find_angles() {
    const std::int64_t position =
        min(max(std::int64_t{turn_.positions[token_]}, std::int64_t{0}), turn_.max_position - 1);
    const int lane = min(row_lane<Shape>(), packs_ - 1);
    const int pack = lane < packs_ / 2 ? lane : lane - packs_ / 2;
    angles_ = turn_.table + (position * packs_ + pack) * kCount;
  }

  /// The pack of the other half.
  __device__ __forceinline__ Pack<T> of_partner(const Pack<T>& own) const {
    const int half = packs_ / 2;
    const int lane = row_lane<Shape>();
    const int partner = lane >= packs_ ? lane : is_low() ? lane + half : lane - half;
    const uint4 words = reinterpret_cast<const uint4&>(own);
    uint4 got;
    got.x = __shfl_sync(0xffffffffu, words.x, partner, Shape::kThreads);
    got.y = __shfl_sync(0xffffffffu, words.y, partner, Shape::kThreads);
    got.z = __shfl_sync(0xffffffffu, words.z, partner, Shape::kThreads);
    got.w = __shfl_sync(0xffffffffu, words.w, partner, Shape::kThreads);
    return reinterpret_cast<const Pack<T>&>(got);
  }

  __device__ __forceinline__ Pack<T> turned(const Pack<T>& own, const Pack<T>& other) const {
    const float sign = is_low() != turn_.inverse ? -1.0f : 1.0f;
    const auto* cosine = reinterpret_cast<const Pack<float>*>(angles_);
    const auto* sine = cosine + packs_ / 2 * (kCount / 4);
    Pack<T> result;
#pragma unroll
    for (int part = 0; part < kCount / 4; ++part) {
      const Pack<float> c = cosine[part], s = sine[part];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int e = part * 4 + i;
        const float along = __fmul_rn(to_float(own.at[e]), c.at[i]);
        result.at[e] = from_float<T>(fmaf(sign * to_float(other.at[e]), s.at[i], along));
      }
    }
    return result;
  }

  const HeadTurn& turn_;
  int packs_;
  int token_;
  int head_;
  const float* angles_ = nullptr;  // of this thread's columns, sines half a row on
};

}  // namespace parhelion::exec::cuda
