// Rounding of matmul totals into the output, compiled once per processor tier. See
// matmul_kernels.h.
#if defined(PARHELION_MATMUL_STORE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_MATMUL_STORE_INL_H
#undef PARHELION_MATMUL_STORE_INL_H
#else
#define PARHELION_MATMUL_STORE_INL_H
#endif

#include "base/bf16.h"
#include "exec/cpu/kernels/matmul_kernels.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using StoreTag = hn::ScalableTag<float>;
using StoreHalfTag = hn::Rebind<std::uint16_t, StoreTag>;
constexpr std::int64_t kStoreLanes = static_cast<std::int64_t>(HWY_LANES(float));

// output[j] += addend[j], f32 addend.
HWY_INLINE void add_floats(float* output, const float* addend, std::int64_t count) {
  const StoreTag d;
  std::int64_t j = 0;
  for (; j + kStoreLanes <= count; j += kStoreLanes)
    hn::StoreU(hn::Add(hn::LoadU(d, output + j), hn::LoadU(d, addend + j)), d, output + j);
  for (; j < count; ++j) output[j] += addend[j];
}

// output[j] += addend[j], bf16 addend.
HWY_INLINE void add_halves(float* output, const BFloat16* addend, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) output[j] += to_float(addend[j]);
}

// Bits of the nearest bf16, ties to even, in the low halves; NaN stays a quiet NaN.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<StoreTag>> round_to_halves(hn::Vec<StoreTag> value) {
  const hn::RebindToUnsigned<StoreTag> du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000u));
  const auto is_nan =
      hn::MaskFromVec(hn::BitCast(du, hn::VecFromMask(StoreTag(), hn::IsNaN(value))));
  return hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
}

HWY_INLINE void store_halves(const float* total, BFloat16* output, std::int64_t count) {
  const StoreTag d;
  const hn::RebindToSigned<StoreTag> di;
  std::int64_t j = 0;
  for (; j + kStoreLanes <= count; j += kStoreLanes) {
    const auto halves = hn::BitCast(di, round_to_halves(hn::LoadU(d, total + j)));
    hn::StoreU(hn::DemoteTo(StoreHalfTag(), halves), StoreHalfTag(),
               reinterpret_cast<std::uint16_t*>(output + j));
  }
  for (; j < count; ++j) output[j] = to_bfloat16(total[j]);
}

void store_row(const StoreArgs& args) {
  if (args.bias != nullptr && args.bias_kind == ir::Kind::f32)
    add_floats(args.total, static_cast<const float*>(args.bias), args.count);
  if (args.bias != nullptr && args.bias_kind == ir::Kind::bf16)
    add_halves(args.total, static_cast<const BFloat16*>(args.bias), args.count);
  if (args.output_kind == ir::Kind::bf16)
    return store_halves(args.total, static_cast<BFloat16*>(args.output), args.count);
  auto* output = static_cast<float*>(args.output);
  if (args.accumulate) return add_floats(output, args.total, args.count);
  std::memcpy(output, args.total, static_cast<std::size_t>(args.count) * sizeof(float));
}

}  // namespace
}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_MATMUL_STORE_INL_H
