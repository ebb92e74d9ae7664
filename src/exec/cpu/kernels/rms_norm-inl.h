// The statistic that rms_norm and its gradient share.

// clang-format off
#if defined(PARHELION_EXEC_CPU_KERNELS_RMS_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_EXEC_CPU_KERNELS_RMS_NORM_INL_H_
#undef PARHELION_EXEC_CPU_KERNELS_RMS_NORM_INL_H_
#else
#define PARHELION_EXEC_CPU_KERNELS_RMS_NORM_INL_H_
#endif
// clang-format on

#include "exec/cpu/kernels/simd-inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

/// 1 / sqrt(sum(x^2) / cols + eps) of one row.
template <class T>
HWY_INLINE float rms_norm_rstd(const T* x, std::int64_t cols, float eps) {
  const F32 d;
  const float sum =
      fold_lanes<AddFold>(cols, 0.0f, [&](Vec32 partial, std::int64_t c, auto extent) {
        const Vec32 v = load(d, x + c, extent);
        return hn::MulAdd(v, v, partial);
      });
  return 1.0f / std::sqrt(sum / static_cast<float>(cols) + eps);
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_EXEC_CPU_KERNELS_RMS_NORM_INL_H_
