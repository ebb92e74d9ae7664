#include "exec/cpu/kernels/elementwise.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

template <class T, class F>
HWY_INLINE void elementwise_binary(const Binary& args, std::int64_t begin, std::int64_t end,
                                   const F& f) {
  const F32 d;
  const T* a = static_cast<const T*>(args.a) + begin;
  const T* b = static_cast<const T*>(args.b) + begin;
  T* y = static_cast<T*>(args.y) + begin;
  for_vectors(end - begin, [&](std::int64_t i, auto extent) {
    store(d, f(load(d, a + i, extent), load(d, b + i, extent)), y + i, extent);
  });
}

void elementwise_add(const Binary& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.kind, [&](auto type) {
    elementwise_binary<decltype(type)>(args, begin, end,
                                       [](Vec32 a, Vec32 b) { return hn::Add(a, b); });
  });
}

void elementwise_multiply(const Binary& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.kind, [&](auto type) {
    elementwise_binary<decltype(type)>(args, begin, end,
                                       [](Vec32 a, Vec32 b) { return hn::Mul(a, b); });
  });
}

template <class T, class F>
HWY_INLINE void elementwise_unary(const Unary& args, std::int64_t begin, std::int64_t end,
                                  const F& f) {
  const F32 d;
  const T* x = static_cast<const T*>(args.x) + begin;
  T* y = static_cast<T*>(args.y) + begin;
  for_vectors(end - begin, [&](std::int64_t i, auto extent) {
    store(d, f(load(d, x + i, extent)), y + i, extent);
  });
}

void elementwise_silu(const Unary& args, std::int64_t begin, std::int64_t end) {
  with_storage(args.kind, [&](auto type) {
    elementwise_unary<decltype(type)>(args, begin, end, [](Vec32 x) { return silu_of(F32(), x); });
  });
}

void elementwise_scale(const Unary& args, float factor, std::int64_t begin, std::int64_t end) {
  const Vec32 by = hn::Set(F32(), factor);
  with_storage(args.kind, [&](auto type) {
    elementwise_unary<decltype(type)>(args, begin, end, [&](Vec32 x) { return hn::Mul(x, by); });
  });
}

void elementwise_cast(const Cast& args, std::int64_t begin, std::int64_t end) {
  const F32 d;
  with_storage(args.from, [&](auto from) {
    with_storage(args.to, [&](auto to) {
      const auto* x = static_cast<const decltype(from)*>(args.x) + begin;
      auto* y = static_cast<decltype(to)*>(args.y) + begin;
      for_vectors(end - begin, [&](std::int64_t i, auto extent) {
        store(d, load(d, x + i, extent), y + i, extent);
      });
    });
  });
}

void elementwise_accumulate(Kind kind, const void* x, float* acc, std::int64_t begin,
                            std::int64_t end) {
  const F32 d;
  with_storage(kind, [&](auto type) {
    const auto* from = static_cast<const decltype(type)*>(x) + begin;
    float* to = acc + begin;
    for_vectors(end - begin, [&](std::int64_t i, auto extent) {
      store(d, hn::Add(load(d, to + i, extent), load(d, from + i, extent)), to + i, extent);
    });
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(elementwise_add);
HWY_EXPORT(elementwise_multiply);
HWY_EXPORT(elementwise_silu);
HWY_EXPORT(elementwise_scale);
HWY_EXPORT(elementwise_cast);
HWY_EXPORT(elementwise_accumulate);

void add(const Binary& args, int threads) {
  parallel_ranges(args.count, grain_of(1), threads, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(elementwise_add)(args, begin, end);
  });
}

void multiply(const Binary& args, int threads) {
  parallel_ranges(args.count, grain_of(1), threads, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(elementwise_multiply)(args, begin, end);
  });
}

void silu(const Unary& args, int threads) {
  parallel_ranges(args.count, grain_of(4), threads, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(elementwise_silu)(args, begin, end);
  });
}

void scale(const Unary& args, float factor, int threads) {
  parallel_ranges(args.count, grain_of(1), threads, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(elementwise_scale)(args, factor, begin, end);
  });
}

void cast(const Cast& args, int threads) {
  parallel_ranges(args.count, grain_of(1), threads, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(elementwise_cast)(args, begin, end);
  });
}

void fill(Kind kind, float value, void* y, std::int64_t count, int threads) {
  with_storage(kind, [&](auto type) {
    using T = decltype(type);
    T* out = static_cast<T*>(y);
    parallel_ranges(count, grain_of(1), threads, [&](std::int64_t begin, std::int64_t end) {
      std::fill(out + begin, out + end, narrow<T>(value));
    });
  });
}

void accumulate(Kind kind, const void* x, float* acc, std::int64_t count, int threads) {
  parallel_ranges(count, grain_of(1), threads, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(elementwise_accumulate)(kind, x, acc, begin, end);
  });
}

}  // namespace parhelion::exec::cpu
#endif
