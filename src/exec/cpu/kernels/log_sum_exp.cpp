#include "exec/cpu/kernels/log_sum_exp.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

#include <cmath>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/log_sum_exp.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

constexpr std::int64_t kLogSumExpBlock = 4096;
constexpr float kLogSumExpLowest = -std::numeric_limits<float>::infinity();

struct LogSumExpState {
  float max = kLogSumExpLowest;
  float sum = 0.0f;
};

HWY_INLINE LogSumExpState log_sum_exp_block(const float* x, std::int64_t count) {
  const F32 d;
  const Vec32 lowest = hn::Set(d, kLogSumExpLowest);
  const float max =
      fold_lanes<MaxFold>(count, kLogSumExpLowest, [&](Vec32 partial, std::int64_t c, auto extent) {
        return hn::Max(partial, keep(d, load(d, x + c, extent), lowest, extent));
      });
  const bool is_empty = max == kLogSumExpLowest;
  const Vec32 shift = hn::Set(d, is_empty ? 0.0f : max);
  const float sum =
      fold_lanes<AddFold>(count, 0.0f, [&](Vec32 partial, std::int64_t c, auto extent) {
        const Vec32 term = exp_of(d, hn::Sub(load(d, x + c, extent), shift));
        return hn::Add(partial, keep(d, term, hn::Zero(d), extent));
      });
  if (is_empty) return sum == 0.0f ? LogSumExpState{} : LogSumExpState{0.0f, sum};
  return {max, sum};
}

HWY_INLINE LogSumExpState log_sum_exp_merge(LogSumExpState a, LogSumExpState b) {
  if (b.max == kLogSumExpLowest) return a;
  const float max = a.max > b.max ? a.max : b.max;
  const float kept = a.sum * exp_scalar(a.max - max);
  return {max, std::fma(b.sum, exp_scalar(b.max - max), kept)};
}

float log_sum_exp_row(const float* row, std::int64_t count) {
  LogSumExpState state;
  for (std::int64_t first = 0; first < count; first += kLogSumExpBlock) {
    const std::int64_t length = std::min(kLogSumExpBlock, count - first);
    state = log_sum_exp_merge(state, log_sum_exp_block(row + first, length));
  }
  return state.max + std::log(state.sum);
}

template <class T>
HWY_INLINE void cross_entropy_grad_row(const CrossEntropyGrad& args, std::int64_t r) {
  const F32 d;
  const std::int64_t cols = args.rows.cols;
  const float* x = args.rows.logits + r * cols;
  T* out = static_cast<T*>(args.d) + r * cols;
  const std::int32_t label = args.labels[r];
  if (label < 0 || label >= cols) {
    std::fill_n(out, cols, T{});
    return;
  }
  const float labelled = x[label];
  const Vec32 shift = hn::Set(d, args.lse[r]);
  const Vec32 by = hn::Set(d, args.dloss[r]);
  for_vectors(cols, [&](std::int64_t c, auto extent) {
    const Vec32 p = exp_of(d, hn::Sub(load(d, x + c, extent), shift));
    store(d, hn::Mul(p, by), out + c, extent);
  });
  out[label] = narrow<T>((exp_scalar(labelled - args.lse[r]) - 1.0f) * args.dloss[r]);
}

void cross_entropy_grad_rows(const CrossEntropyGrad& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.d_kind, [&](auto type) {
    for (std::int64_t r = begin; r < end; ++r) cross_entropy_grad_row<decltype(type)>(args, r);
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(log_sum_exp_row);
HWY_EXPORT(cross_entropy_grad_rows);

float log_sum_exp(const float* row, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(log_sum_exp_row)(row, count);
}

void log_sum_exp(const LogitRows& args, float* lse, int threads) {
  parallel_ranges(args.rows, grain_of(4 * args.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) {
                      lse[r] = log_sum_exp(args.logits + r * args.cols, args.cols);
                    }
                  });
}

void log_probability(const LogitRows& args, const std::int32_t* ids, float* y, float* lse,
                     int threads) {
  parallel_ranges(args.rows, grain_of(4 * args.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) {
                      const float* row = args.logits + r * args.cols;
                      const float total = log_sum_exp(row, args.cols);
                      if (lse != nullptr) lse[r] = total;
                      const bool known = ids[r] >= 0 && ids[r] < args.cols;
                      y[r] = known ? row[ids[r]] - total : 0.0f;
                    }
                  });
}

void cross_entropy_grad(const CrossEntropyGrad& args, int threads) {
  parallel_ranges(args.rows.rows, grain_of(4 * args.rows.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(cross_entropy_grad_rows)(args, begin, end);
                  });
}

}  // namespace parhelion::exec::cpu
#endif
