// Counter-based noise for kernels, compiled once per instruction set: the bits of noise16.

// clang-format off
#if defined(PARHELION_EXEC_CPU_KERNELS_NOISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_EXEC_CPU_KERNELS_NOISE_INL_H_
#undef PARHELION_EXEC_CPU_KERNELS_NOISE_INL_H_
#else
#define PARHELION_EXEC_CPU_KERNELS_NOISE_INL_H_
#endif
// clang-format on

#include "exec/cpu/kernels/noise.h"
#include "exec/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {

using U64 = hn::ScalableTag<std::uint64_t>;
using VecU64 = hn::Vec<U64>;

/// The four words of Philox4x32-10, each in the low half of a lane.
struct PhiloxLanes {
  VecU64 word[4];
};

/// The product of the low halves of `a` and a constant, 64 bits.
HWY_INLINE VecU64 philox_multiply(VecU64 a, std::uint32_t factor) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(U64(), hn::GetLane(a) * factor);
#else
  const hn::Repartition<std::uint32_t, U64> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::Set(d32, factor));
#endif
}

/// Ten rounds; the counter of lane i is (first + i, tag).
HWY_INLINE PhiloxLanes philox_lanes(std::uint64_t key, std::uint64_t first, std::uint64_t tag) {
  const U64 d;
  const VecU64 low_half = hn::Set(d, 0xffffffffu);
  const VecU64 counter = hn::Iota(d, first);
  PhiloxLanes lanes{{hn::And(counter, low_half), hn::ShiftRight<32>(counter),
                     hn::Set(d, tag & 0xffffffffu), hn::Set(d, tag >> 32)}};
  auto key_low = static_cast<std::uint32_t>(key);
  auto key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const VecU64 product_0 = philox_multiply(lanes.word[0], 0xD2511F53u);
    const VecU64 product_1 = philox_multiply(lanes.word[2], 0xCD9E8D57u);
    lanes = {{hn::Xor3(hn::ShiftRight<32>(product_1), lanes.word[1], hn::Set(d, key_low)),
              hn::And(product_1, low_half),
              hn::Xor3(hn::ShiftRight<32>(product_0), lanes.word[3], hn::Set(d, key_high)),
              hn::And(product_0, low_half)}};
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return lanes;
}

/// noise[i] = noise16(seed, tag, first + i) for one block; `first` is a multiple of kNoiseBlock.
inline void fill_noise(std::uint64_t seed, std::int64_t tag, std::int64_t first,
                       std::uint16_t* noise) {
  const U64 d;
  constexpr std::int64_t kGroupLanes = hn::MaxLanes(U64());
  alignas(64) std::uint64_t words[4][kGroupLanes];
  for (std::int64_t group = 0; group < kNoiseBlock / 8; group += kGroupLanes) {
    const PhiloxLanes lanes = philox_lanes(seed, static_cast<std::uint64_t>(first / 8 + group),
                                           static_cast<std::uint64_t>(tag));
    for (int w = 0; w < 4; ++w) hn::Store(lanes.word[w], d, words[w]);
    std::uint16_t* out = noise + group * 8;
    for (std::int64_t lane = 0; lane < kGroupLanes; ++lane) {
      for (int w = 0; w < 4; ++w, out += 2) {
        out[0] = static_cast<std::uint16_t>(words[w][lane]);
        out[1] = static_cast<std::uint16_t>(words[w][lane] >> 16);
      }
    }
  }
}

/// Noise as u32 lanes; the tail reads on inside its block.
HWY_INLINE hn::Vec<hn::Rebind<std::uint32_t, F32>> load_noise(const std::uint16_t* noise) {
  const hn::Rebind<std::uint32_t, F32> d32;
  const hn::Rebind<std::uint16_t, F32> d16;
  return hn::PromoteTo(d32, hn::LoadU(d16, noise));
}

}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_EXEC_CPU_KERNELS_NOISE_INL_H_
