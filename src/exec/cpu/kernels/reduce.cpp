#include "exec/cpu/kernels/reduce.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/reduce.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

constexpr std::int64_t kReduceBlock = 256;
constexpr float kReduceLowest = -std::numeric_limits<float>::infinity();

template <class T>
HWY_INLINE float reduce_row(const T* x, std::int64_t cols, Reduction how) {
  const F32 d;
  if (how == Reduction::max) {
    return fold_lanes<MaxFold>(
        cols, kReduceLowest, [&](Vec32 partial, std::int64_t c, auto extent) {
          return hn::Max(partial,
                         keep(d, load(d, x + c, extent), hn::Set(d, kReduceLowest), extent));
        });
  }
  const float sum =
      fold_lanes<AddFold>(cols, 0.0f, [&](Vec32 partial, std::int64_t c, auto extent) {
        return hn::Add(partial, load(d, x + c, extent));
      });
  return how == Reduction::mean ? sum / static_cast<float>(cols) : sum;
}

void reduce_last_rows(const Reduce& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t r = begin; r < end; ++r) {
      const float value =
          reduce_row(static_cast<const T*>(args.x) + r * args.cols, args.cols, args.how);
      with_storage(args.y_kind, [&](auto out) {
        static_cast<decltype(out)*>(args.y)[r] = narrow<decltype(out)>(value);
      });
    }
  });
}

/// One vector of columns over all rows.
template <class Fold, class T, class Extent>
HWY_INLINE Vec32 reduce_columns(const T* x, std::int64_t rows, std::int64_t cols, float start,
                                Extent extent) {
  const F32 d;
  Vec32 total = hn::Set(d, start);
  for (std::int64_t first = 0; first < rows; first += kReduceBlock) {
    Vec32 block = hn::Set(d, start);
    const std::int64_t last = std::min(rows, first + kReduceBlock);
    for (std::int64_t r = first; r < last; ++r) {
      block = Fold::combine(block, load(d, x + r * cols, extent));
    }
    total = Fold::combine(total, block);
  }
  return total;
}

template <class T, class Extent>
HWY_INLINE Vec32 reduce_columns(const Reduce& args, std::int64_t c, Extent extent) {
  const F32 d;
  const T* x = static_cast<const T*>(args.x) + c;
  if (args.how == Reduction::max) {
    return reduce_columns<MaxFold>(x, args.rows, args.cols, kReduceLowest, extent);
  }
  const Vec32 sum = reduce_columns<AddFold>(x, args.rows, args.cols, 0.0f, extent);
  if (args.how == Reduction::sum) return sum;
  return hn::Div(sum, hn::Set(d, static_cast<float>(args.rows)));
}

void reduce_first_columns(const Reduce& args, std::int64_t begin, std::int64_t end) {
  const F32 d;
  with_storage(args.kind, [&](auto type) {
    with_storage(args.y_kind, [&](auto out) {
      auto* y = static_cast<decltype(out)*>(args.y) + begin;
      for_vectors(end - begin, [&](std::int64_t i, auto extent) {
        store(d, reduce_columns<decltype(type)>(args, begin + i, extent), y + i, extent);
      });
    });
  });
}

void reduce_accumulate_columns(const Reduce& args, float* acc, std::int64_t begin,
                               std::int64_t end) {
  const F32 d;
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    for_vectors(end - begin, [&](std::int64_t i, auto extent) {
      const std::int64_t c = begin + i;
      const Vec32 sum = reduce_columns<AddFold>(static_cast<const T*>(args.x) + c, args.rows,
                                                args.cols, 0.0f, extent);
      store(d, hn::Add(load(d, acc + c, extent), sum), acc + c, extent);
    });
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(reduce_last_rows);
HWY_EXPORT(reduce_first_columns);
HWY_EXPORT(reduce_accumulate_columns);

void reduce_last(const Reduce& args, int threads) {
  parallel_ranges(args.rows, grain_of(args.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(reduce_last_rows)(args, begin, end);
                  });
}

void reduce_first(const Reduce& args, int threads) {
  parallel_ranges(args.cols, grain_of(args.rows), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(reduce_first_columns)(args, begin, end);
                  });
}

void accumulate_rows(const Reduce& args, float* acc, int threads) {
  parallel_ranges(args.cols, grain_of(args.rows), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(reduce_accumulate_columns)(args, acc, begin, end);
                  });
}

void broadcast_last(const Broadcast& args, int threads) {
  const float count = args.how == Reduction::mean ? static_cast<float>(args.cols) : 1.0f;
  parallel_ranges(args.rows, grain_of(args.cols), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) {
                      std::fill_n(args.y + r * args.cols, args.cols, args.x[r] / count);
                    }
                  });
}

}  // namespace parhelion::exec::cpu
#endif
