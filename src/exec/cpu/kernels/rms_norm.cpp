#include "exec/cpu/kernels/rms_norm.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/rms_norm.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/rms_norm-inl.h"
#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

template <class T>
HWY_INLINE void rms_norm_row(const T* x, const T* w, T* y, std::int64_t cols, float eps) {
  const F32 d;
  const Vec32 rstd = hn::Set(d, rms_norm_rstd(x, cols, eps));
  for_vectors(cols, [&](std::int64_t c, auto extent) {
    const Vec32 unit = round_to<T>(d, hn::Mul(load(d, x + c, extent), rstd));
    store(d, hn::Mul(load(d, w + c, extent), unit), y + c, extent);
  });
}

void rms_norm_rows(const RmsNorm& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t r = begin; r < end; ++r) {
      rms_norm_row(static_cast<const T*>(args.x) + r * args.cols, static_cast<const T*>(args.w),
                   static_cast<T*>(args.y) + r * args.cols, args.cols, args.eps);
    }
  });
}

template <class T>
HWY_INLINE void rms_norm_add_row(const T* x, const T* r, T* s, std::int64_t cols) {
  const F32 d;
  for_vectors(cols, [&](std::int64_t c, auto extent) {
    store(d, hn::Add(load(d, x + c, extent), load(d, r + c, extent)), s + c, extent);
  });
}

void add_rms_norm_rows(const AddRmsNorm& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.norm.kind, [&](auto type) {
    using T = decltype(type);
    const std::int64_t cols = args.norm.cols;
    for (std::int64_t row = begin; row < end; ++row) {
      T* s = static_cast<T*>(args.s) + row * cols;
      rms_norm_add_row(static_cast<const T*>(args.norm.x) + row * cols,
                       static_cast<const T*>(args.r) + row * cols, s, cols);
      rms_norm_row<T>(s, static_cast<const T*>(args.norm.w),
                      static_cast<T*>(args.norm.y) + row * cols, cols, args.norm.eps);
    }
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(rms_norm_rows);
HWY_EXPORT(add_rms_norm_rows);

void rms_norm(const RmsNorm& args, int threads) {
  parallel_ranges(args.rows, grain_of(args.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(rms_norm_rows)(args, begin, end);
                  });
}

void add_rms_norm(const AddRmsNorm& args, int threads) {
  parallel_ranges(args.norm.rows, grain_of(args.norm.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(add_rms_norm_rows)(args, begin, end);
                  });
}

}  // namespace parhelion::exec::cpu
#endif
