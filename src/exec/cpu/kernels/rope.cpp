#include "exec/cpu/kernels/rope.h"

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/rope.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

template <class T>
HWY_INLINE void rope_head(const T* x, const float* angles, float sign, T* y, std::int64_t half) {
  const F32 d;
  const Vec32 turn = hn::Set(d, sign);
  for_vectors(half, [&](std::int64_t c, auto extent) {
    const Vec32 cosine = load(d, angles + c, extent);
    const Vec32 sine = hn::Mul(load(d, angles + half + c, extent), turn);
    const Vec32 low = load(d, x + c, extent);
    const Vec32 high = load(d, x + half + c, extent);
    store(d, hn::NegMulAdd(high, sine, hn::Mul(low, cosine)), y + c, extent);
    store(d, hn::MulAdd(low, sine, hn::Mul(high, cosine)), y + half + c, extent);
  });
}

void rope_tokens(const Rope& args, std::int64_t begin, std::int64_t end) {
  const float sign = args.direction == RopeDirection::forward ? 1.0f : -1.0f;
  with_storage(args.kind, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t position =
          std::clamp<std::int64_t>(args.positions[t], 0, args.max_position - 1);
      const float* angles = args.table + position * args.d;
      const T* x = static_cast<const T*>(args.x) + t * args.x_stride;
      T* y = static_cast<T*>(args.y) + t * args.heads * args.d;
      for (std::int64_t head = 0; head < args.heads; ++head) {
        rope_head(x + head * args.d, angles, sign, y + head * args.d, args.d / 2);
      }
    }
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(rope_tokens);

void rope(const Rope& args, int threads) {
  parallel_ranges(args.tokens, grain_of(args.heads * args.d), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(rope_tokens)(args, begin, end);
                  });
}

}  // namespace parhelion::exec::cpu
#endif
