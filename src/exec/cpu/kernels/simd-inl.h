// Vector helpers of every kernel, compiled once per instruction set.
// Elementwise results do not depend on the position in a vector: a tail runs through the same
// vector code.

// clang-format off
#if defined(PARHELION_EXEC_CPU_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_EXEC_CPU_KERNELS_SIMD_INL_H_
#undef PARHELION_EXEC_CPU_KERNELS_SIMD_INL_H_
#else
#define PARHELION_EXEC_CPU_KERNELS_SIMD_INL_H_
#endif
// clang-format on

#include "base/bf16.h"
#include "exec/cpu/kernels/storage.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using Vec32 = hn::Vec<F32>;
constexpr std::int64_t kLanes = hn::MaxLanes(F32());

/// How many lanes a step covers: all of them, or the tail of a row.
struct Whole {};
struct Part {
  std::int64_t count;
};

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* p, Whole = {}) {
  return hn::LoadU(d, p);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const BFloat16* p, Whole = {}) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<std::uint32_t, D> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(p)));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}

/// The bf16 bits of each lane, to nearest even, in the low halves.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<std::uint32_t, D>> bf16_bits(D, hn::Vec<D> v) {
  const hn::Rebind<std::uint32_t, D> d32;
  const auto bits = hn::BitCast(d32, v);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(d32, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d32, 0x7fffu)), odd));
  const auto quiet = hn::Or(high, hn::Set(d32, 0x40u));
  return hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(v)), quiet, rounded);
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> v, float* p, Whole = {}) {
  hn::StoreU(v, d, p);
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> v, BFloat16* p, Whole = {}) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<std::int32_t, D> d32;
  const auto bits = hn::BitCast(d32, bf16_bits(d, v));
  hn::StoreU(hn::DemoteTo(d16, bits), d16, reinterpret_cast<std::uint16_t*>(p));
}

/// The tail's lanes; the others are zero.
template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* p, Part part) {
  T buffer[16] = {};
  for (std::int64_t i = 0; i < part.count; ++i) buffer[i] = p[i];
  return load(d, buffer, Whole{});
}

template <class D, class T>
HWY_INLINE void store(D d, hn::Vec<D> v, T* p, Part part) {
  T buffer[16];
  store(d, v, buffer, Whole{});
  for (std::int64_t i = 0; i < part.count; ++i) p[i] = buffer[i];
}

/// v as it would be after a store to T and a load.
template <class T, class D>
HWY_INLINE hn::Vec<D> round_to([[maybe_unused]] D d, hn::Vec<D> v) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return v;
  } else {
    return hn::BitCast(d, hn::ShiftLeft<16>(bf16_bits(d, v)));
  }
}

/// Calls step(index, Whole or Part) over [0, count), ascending.
template <class F>
HWY_INLINE void for_vectors(std::int64_t count, const F& step) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) step(i, Whole{});
  if (i < count) step(i, Part{count - i});
}

/// A row as f32: borrowed where it is stored so, else widened into `wide`.
inline const float* widened_row(const float* row, float*, std::int64_t) { return row; }

inline const float* widened_row(const BFloat16* row, float* wide, std::int64_t count) {
  const F32 d;
  for_vectors(count, [&](std::int64_t c, auto extent) {
    store(d, load(d, row + c, extent), wide + c, extent);
  });
  return wide;
}

/// e^x to about one unit in the last place: 0 below -87.3365, infinity above 88.7228, exp(0) = 1.
///
/// x = n ln 2 + r; e^r by a polynomial of degree 7 in r; n is added to the exponent bits.
template <class D>
HWY_INLINE hn::Vec<D> exp_of(D d, hn::Vec<D> x) {
  const hn::Rebind<std::int32_t, D> d32;
  const auto shifter = hn::Set(d, 0x1.8p23f);  // a sum with it has the integer in its low bits
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), shifter);
  const auto nf = hn::Sub(shifted, shifter);
  auto r = hn::MulAdd(nf, hn::Set(d, -0.693145751953125f), x);
  r = hn::MulAdd(nf, hn::Set(d, -1.428606765330187e-6f), r);
  auto p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  const auto y =
      hn::BitCast(d, hn::Add(hn::BitCast(d32, p), hn::ShiftLeft<23>(hn::BitCast(d32, shifted))));
  const auto positive = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3365f)), y);
  const auto overflow = hn::Mul(x, hn::Set(d, std::numeric_limits<float>::infinity()));
  return hn::IfThenElse(hn::Le(x, hn::Set(d, 88.72283f)), positive, overflow);
}

/// exp_of for one number, the same bits.
HWY_INLINE float exp_scalar(float x) {
  const hn::CappedTag<float, 4> d;
  return hn::GetLane(exp_of(d, hn::Set(d, x)));
}

/// x / (1 + e^-x).
template <class D>
HWY_INLINE hn::Vec<D> silu_of(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0f);
  return hn::Div(x, hn::Add(one, exp_of(d, hn::Neg(x))));
}

/// The tail's lanes of v, and `fill` in the others.
template <class D>
HWY_INLINE hn::Vec<D> keep(D, hn::Vec<D> v, hn::Vec<D>, Whole) {
  return v;
}

template <class D>
HWY_INLINE hn::Vec<D> keep(D d, hn::Vec<D> v, hn::Vec<D> fill, Part part) {
  return hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(part.count)), v, fill);
}

struct AddFold {
  static HWY_INLINE Vec32 combine(Vec32 a, Vec32 b) { return hn::Add(a, b); }
  static HWY_INLINE float combine(float a, float b) { return a + b; }
};

struct MaxFold {
  static HWY_INLINE Vec32 combine(Vec32 a, Vec32 b) { return hn::Max(a, b); }
  static HWY_INLINE float combine(float a, float b) { return a > b ? a : b; }
};

constexpr std::int64_t kFoldLanes = 64;
constexpr std::int64_t kFoldVectors = kFoldLanes / kLanes;

/// Folds partials by halves: j takes j + 32, then j + 16, and so on.
template <class Fold>
HWY_INLINE float fold_partials(Vec32* partial) {
  const F32 d;
#pragma GCC unroll 4
  for (std::int64_t half = kFoldVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (std::int64_t k = 0; k < half; ++k) {
      partial[k] = Fold::combine(partial[k], partial[k + half]);
    }
  }
  float lane[16];
  hn::StoreU(partial[0], d, lane);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t j = 0; j < half; ++j) lane[j] = Fold::combine(lane[j], lane[j + half]);
  }
  return lane[0];
}

/// Index i belongs to partial i % 64: partial = step(partial, index, extent), ascending from
/// `start`; then fold_partials. The order depends on the count alone, at every vector width.
template <class Fold, class Step>
HWY_INLINE float fold_lanes(std::int64_t count, float start, const Step& step) {
  const F32 d;
  Vec32 partial[kFoldVectors];
#pragma GCC unroll 16
  for (std::int64_t k = 0; k < kFoldVectors; ++k) partial[k] = hn::Set(d, start);
  std::int64_t i = 0;
  for (; i + kFoldLanes <= count; i += kFoldLanes) {
#pragma GCC unroll 16
    for (std::int64_t k = 0; k < kFoldVectors; ++k) {
      partial[k] = step(partial[k], i + k * kLanes, Whole{});
    }
  }
#pragma GCC unroll 16
  for (std::int64_t k = 0; k < kFoldVectors; ++k) {
    const std::int64_t at = i + k * kLanes;
    if (at + kLanes <= count) {
      partial[k] = step(partial[k], at, Whole{});
    } else if (at < count) {
      partial[k] = step(partial[k], at, Part{count - at});
    }
  }
  return fold_partials<Fold>(partial);
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_EXEC_CPU_KERNELS_SIMD_INL_H_
