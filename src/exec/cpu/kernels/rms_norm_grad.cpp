#include "exec/cpu/kernels/rms_norm_grad.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/rms_norm_grad.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/rms_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

template <class T>
HWY_INLINE void rms_norm_grad_row(const T* x, const T* w, const T* dy, T* dx, std::int64_t cols,
                                  float eps) {
  const F32 d;
  const float rstd = rms_norm_rstd(x, cols, eps);
  const float dot =
      fold_lanes<AddFold>(cols, 0.0f, [&](Vec32 partial, std::int64_t c, auto extent) {
        const Vec32 g = hn::Mul(load(d, w + c, extent), load(d, dy + c, extent));
        return hn::MulAdd(g, load(d, x + c, extent), partial);
      });
  const Vec32 slope = hn::Set(d, rstd * rstd * (dot / static_cast<float>(cols)));
  const Vec32 by = hn::Set(d, rstd);
  for_vectors(cols, [&](std::int64_t c, auto extent) {
    const Vec32 g = hn::Mul(load(d, w + c, extent), load(d, dy + c, extent));
    const Vec32 centred = hn::NegMulAdd(load(d, x + c, extent), slope, g);
    store(d, hn::Mul(by, centred), dx + c, extent);
  });
}

void rms_norm_grad_rows(const RmsNormGrad& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t at = r * args.cols;
      rms_norm_grad_row(static_cast<const T*>(args.x) + at, static_cast<const T*>(args.w),
                        static_cast<const T*>(args.dy) + at, static_cast<T*>(args.dx) + at,
                        args.cols, args.eps);
    }
  });
}

void rms_norm_grad_statistics(const RmsNormWeightGrad& args, float* rstd, std::int64_t begin,
                              std::int64_t end) {
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t r = begin; r < end; ++r) {
      rstd[r] = rms_norm_rstd(static_cast<const T*>(args.x) + r * args.cols, args.cols, args.eps);
    }
  });
}

constexpr std::int64_t kRmsNormGradBlock = 256;

/// One vector of columns over all rows.
template <class T, class Extent>
HWY_INLINE Vec32 rms_norm_grad_columns(const T* x, const T* dy, const float* rstd,
                                       std::int64_t rows, std::int64_t cols, Extent extent) {
  const F32 d;
  Vec32 total = hn::Zero(d);
  for (std::int64_t first = 0; first < rows; first += kRmsNormGradBlock) {
    Vec32 block = hn::Zero(d);
    const std::int64_t last = std::min(rows, first + kRmsNormGradBlock);
    for (std::int64_t r = first; r < last; ++r) {
      const Vec32 scaled = hn::Mul(load(d, x + r * cols, extent), hn::Set(d, rstd[r]));
      block = hn::MulAdd(load(d, dy + r * cols, extent), round_to<T>(d, scaled), block);
    }
    total = hn::Add(total, block);
  }
  return total;
}

void rms_norm_grad_weight(const RmsNormWeightGrad& args, const float* rstd, std::int64_t begin,
                          std::int64_t end) {
  const F32 d;
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    for_vectors(end - begin, [&](std::int64_t i, auto extent) {
      const std::int64_t c = begin + i;
      const Vec32 sum = rms_norm_grad_columns(static_cast<const T*>(args.x) + c,
                                              static_cast<const T*>(args.dy) + c, rstd, args.rows,
                                              args.cols, extent);
      store(d, hn::Add(load(d, args.acc + c, extent), sum), args.acc + c, extent);
    });
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(rms_norm_grad_rows);
HWY_EXPORT(rms_norm_grad_statistics);
HWY_EXPORT(rms_norm_grad_weight);

void rms_norm_grad(const RmsNormGrad& args, int threads) {
  parallel_ranges(args.rows, grain_of(2 * args.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(rms_norm_grad_rows)(args, begin, end);
                  });
}

std::size_t rms_norm_weight_grad_scratch_bytes(std::int64_t rows) {
  return static_cast<std::size_t>(rows) * sizeof(float);
}

void rms_norm_weight_grad(const RmsNormWeightGrad& args, void* scratch, int threads) {
  auto* rstd = static_cast<float*>(scratch);
  parallel_ranges(args.rows, grain_of(args.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(rms_norm_grad_statistics)(args, rstd, begin, end);
                  });
  parallel_ranges(args.cols, grain_of(args.rows), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(rms_norm_grad_weight)(args, rstd, begin, end);
                  });
}

}  // namespace parhelion::exec::cpu
#endif
