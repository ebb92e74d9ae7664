#include "exec/cpu/kernels/update.h"

#include "exec/cpu/kernels/noise.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/storage.h"
#include "exec/cpu/kernels/targets.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/cpu/kernels/update.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "exec/cpu/kernels/noise-inl.h"
#include "exec/cpu/kernels/simd-inl.h"

#include <array>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

using NoiseBuffer = std::array<std::uint16_t, kNoiseBlock + kNoiseMargin>;

/// Stores to T as one rounding asks, drawing the noise of a block where it must.
template <class T, bool Stochastic>
class UpdateStore {
 public:
  UpdateStore(std::uint64_t seed, std::int64_t tag, std::int64_t first) {
    if constexpr (kDraws) fill_noise(seed, tag, first, noise_.data());
  }

  template <class Extent>
  HWY_INLINE void operator()(Vec32 value, T* to, std::int64_t i, Extent extent) const {
    const F32 d;
    if constexpr (kDraws) {
      const hn::Rebind<std::uint32_t, F32> d32;
      // Noise below the kept bits carries into them with the right odds; the rest is cut off.
      const auto bits = hn::Add(hn::BitCast(d32, value), load_noise(noise_.data() + i));
      const Vec32 drawn = hn::BitCast(d, hn::And(bits, hn::Set(d32, 0xffff0000u)));
      value = hn::IfThenElse(hn::IsFinite(value), drawn, value);
    }
    store(d, value, to + i, extent);
  }

 private:
  static constexpr bool kDraws = Stochastic && !std::is_same_v<T, float>;
  std::conditional_t<kDraws, NoiseBuffer, std::array<std::uint16_t, 1>> noise_ = {};
};

struct AdamFactors {
  float scale, decay, added_decay, keep_1, take_1, keep_2, take_2, step, root, eps;
};

HWY_INLINE AdamFactors adam_factors(const AdamUpdate& args) {
  const double rate = static_cast<double>(*args.lr) * args.op.lr_scale;
  const double decay = args.op.weight_decay;
  const auto narrow_to_float = [](double value) { return static_cast<float>(value); };
  return {.scale = *args.scale,
          .decay = args.op.decoupled ? narrow_to_float(1 - rate * decay) : 1.0f,
          .added_decay = args.op.decoupled ? 0.0f : narrow_to_float(decay),
          .keep_1 = narrow_to_float(args.op.beta1),
          .take_1 = narrow_to_float(1 - args.op.beta1),
          .keep_2 = narrow_to_float(args.op.beta2),
          .take_2 = narrow_to_float(1 - args.op.beta2),
          .step = narrow_to_float(rate * static_cast<double>(args.correction[0])),
          .root = args.correction[1],
          .eps = narrow_to_float(args.op.eps)};
}

template <class T, class M, bool Stochastic>
void adam_block(const AdamUpdate& args, const AdamFactors& factors, std::int64_t first) {
  const F32 d;
  T* p = static_cast<T*>(args.p) + first;
  const float* g = args.g + first;
  M* m = static_cast<M*>(args.m) + first;
  M* v = static_cast<M*>(args.v) + first;
  M* v_max = args.v_max == nullptr ? nullptr : static_cast<M*>(args.v_max) + first;
  BFloat16* copy = args.copy == nullptr ? nullptr : args.copy + first;
  const UpdateStore<T, Stochastic> store_p(*args.seed, args.op.tag, first);
  const UpdateStore<M, Stochastic> store_m(*args.seed, args.op.tag + 1, first);
  const UpdateStore<M, Stochastic> store_v(*args.seed, args.op.tag + 2, first);
  for_vectors(std::min(kNoiseBlock, args.count - first), [&](std::int64_t i, auto extent) {
    Vec32 weight = load(d, p + i, extent);
    Vec32 slope = hn::Mul(load(d, g + i, extent), hn::Set(d, factors.scale));
    slope = hn::MulAdd(hn::Set(d, factors.added_decay), weight, slope);
    const Vec32 mean = hn::MulAdd(hn::Set(d, factors.keep_1), load(d, m + i, extent),
                                  hn::Mul(hn::Set(d, factors.take_1), slope));
    const Vec32 square = hn::MulAdd(hn::Set(d, factors.keep_2), load(d, v + i, extent),
                                    hn::Mul(hn::Set(d, factors.take_2), hn::Mul(slope, slope)));
    Vec32 largest = square;
    if (v_max != nullptr) {
      const Vec32 before = load(d, v_max + i, extent);
      largest = hn::IfThenElse(hn::Ge(before, square), before, square);
      store_v(largest, v_max, i, extent);
    }
    const Vec32 spread =
        hn::MulAdd(hn::Sqrt(largest), hn::Set(d, factors.root), hn::Set(d, factors.eps));
    weight = hn::Mul(weight, hn::Set(d, factors.decay));
    weight = hn::NegMulAdd(hn::Set(d, factors.step), hn::Div(mean, spread), weight);
    store_p(weight, p, i, extent);
    if (copy != nullptr) store(d, weight, copy + i, extent);
    store_m(mean, m, i, extent);
    store_v(square, v, i, extent);
  });
}

void adam_blocks(const AdamUpdate& args, std::int64_t begin, std::int64_t end) {
  const AdamFactors factors = adam_factors(args);
  with_storage(args.kind, [&](auto type) {
    with_storage(args.moment_kind, [&](auto moment) {
      const auto run = args.op.rounding == ir::Rounding::stochastic
                           ? &adam_block<decltype(type), decltype(moment), true>
                           : &adam_block<decltype(type), decltype(moment), false>;
      for (std::int64_t block = begin; block < end; ++block)
        run(args, factors, block * kNoiseBlock);
    });
  });
}

struct SgdFactors {
  float scale, decay, momentum, gain, step;
  bool nesterov;
};

HWY_INLINE SgdFactors sgd_factors(const SgdUpdate& args) {
  return {.scale = *args.scale,
          .decay = static_cast<float>(args.op.weight_decay),
          .momentum = static_cast<float>(args.op.momentum),
          .gain = *args.gain,
          .step = static_cast<float>(static_cast<double>(*args.lr) * args.op.lr_scale),
          .nesterov = args.op.nesterov};
}

template <class T, class B, bool Stochastic>
void sgd_block(const SgdUpdate& args, const SgdFactors& factors, std::int64_t first) {
  const F32 d;
  T* p = static_cast<T*>(args.p) + first;
  const float* g = args.g + first;
  B* b = args.b == nullptr ? nullptr : static_cast<B*>(args.b) + first;
  BFloat16* copy = args.copy == nullptr ? nullptr : args.copy + first;
  const UpdateStore<T, Stochastic> store_p(*args.seed, args.op.tag, first);
  const UpdateStore<B, Stochastic> store_b(*args.seed, args.op.tag + 1, first);
  for_vectors(std::min(kNoiseBlock, args.count - first), [&](std::int64_t i, auto extent) {
    Vec32 weight = load(d, p + i, extent);
    const Vec32 momentum = hn::Set(d, factors.momentum);
    Vec32 slope = hn::Mul(load(d, g + i, extent), hn::Set(d, factors.scale));
    slope = hn::MulAdd(hn::Set(d, factors.decay), weight, slope);
    if (b != nullptr) {
      const Vec32 velocity =
          hn::MulAdd(momentum, load(d, b + i, extent), hn::Mul(hn::Set(d, factors.gain), slope));
      store_b(velocity, b, i, extent);
      slope = factors.nesterov ? hn::MulAdd(momentum, velocity, slope) : velocity;
    }
    weight = hn::NegMulAdd(hn::Set(d, factors.step), slope, weight);
    store_p(weight, p, i, extent);
    if (copy != nullptr) store(d, weight, copy + i, extent);
  });
}

void sgd_blocks(const SgdUpdate& args, std::int64_t begin, std::int64_t end) {
  const SgdFactors factors = sgd_factors(args);
  with_storage(args.kind, [&](auto type) {
    with_storage(args.momentum_kind, [&](auto velocity) {
      const auto run = args.op.rounding == ir::Rounding::stochastic
                           ? &sgd_block<decltype(type), decltype(velocity), true>
                           : &sgd_block<decltype(type), decltype(velocity), false>;
      for (std::int64_t block = begin; block < end; ++block)
        run(args, factors, block * kNoiseBlock);
    });
  });
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parhelion::exec::cpu {

HWY_EXPORT(adam_blocks);
HWY_EXPORT(sgd_blocks);

namespace {

std::int64_t noise_blocks(std::int64_t count) { return (count + kNoiseBlock - 1) / kNoiseBlock; }

}  // namespace

void adam_update(const AdamUpdate& args, int threads) {
  parallel_ranges(noise_blocks(args.count), grain_of(kNoiseBlock), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(adam_blocks)(args, begin, end);
                  });
}

void sgd_update(const SgdUpdate& args, int threads) {
  parallel_ranges(noise_blocks(args.count), grain_of(kNoiseBlock), threads,
                  [&](std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(sgd_blocks)(args, begin, end);
                  });
}

}  // namespace parhelion::exec::cpu
#endif  // HWY_ONCE
