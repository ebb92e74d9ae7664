// Register tiles of the matmul, compiled once per processor tier. See matmul_kernels.h.
#if defined(PARHELION_MATMUL_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_MATMUL_TILE_INL_H
#undef PARHELION_MATMUL_TILE_INL_H
#else
#define PARHELION_MATMUL_TILE_INL_H
#endif

#include "exec/cpu/kernels/matmul_kernels.h"

#include <hwy/highway.h>

#include <array>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using TileTag = hn::ScalableTag<float>;
using TileVector = hn::Vec<TileTag>;
constexpr int kTileVectors = HWY_TARGET == HWY_SCALAR ? 4 : 2;
constexpr std::int64_t kTileLanes = static_cast<std::int64_t>(HWY_LANES(float));
constexpr std::int64_t kTileColumns = kTileVectors * kTileLanes;
// Sums, two vectors of b and a broadcast fill 32 or 16 registers.
constexpr int kTileRows = HWY_TARGET <= HWY_AVX3 ? 14 : 6;

struct TileTerms {
  TileVector at[kTileVectors];
};

template <int Rows>
struct TileSums {
  TileTerms rows[std::size_t{Rows}];
};

// The vectors that `load(offset)` gives, side by side.
template <class LoadVector>
HWY_INLINE TileTerms load_terms(LoadVector load) {
  TileTerms terms;
#pragma GCC unroll 4
  for (int j = 0; j < kTileVectors; ++j) terms.at[j] = load(j * kTileLanes);
  return terms;
}

// The next term of every chain: sums[r] += a[r] * b.
template <int Rows>
HWY_INLINE void add_term(TileSums<Rows>& sums, const float* a, const TileTerms& b) {
#pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r) {
    const TileVector factor = hn::Set(TileTag(), a[r]);
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j)
      sums.rows[r].at[j] = hn::MulAdd(factor, b.at[j], sums.rows[r].at[j]);
  }
}

template <int Rows>
HWY_INLINE void clear(TileSums<Rows>& sums) {
#pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r)
    sums.rows[r] = load_terms([](std::int64_t) { return hn::Zero(TileTag()); });
}

// total (+)= sums
template <int Rows>
HWY_INLINE void fold(const TileSums<Rows>& sums, const TileArgs& args) {
  const TileTag d;
#pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r) {
    float* total = args.total + r * args.total_pitch;
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j) {
      TileVector sum = sums.rows[r].at[j];
      if (!args.first) sum = hn::Add(hn::Load(d, total + j * kTileLanes), sum);
      hn::Store(sum, d, total + j * kTileLanes);
    }
  }
}

HWY_INLINE TileTerms load_floats(const float* b) {
  return load_terms([b](std::int64_t offset) { return hn::Load(TileTag(), b + offset); });
}

// Term `k` of pairs as f32: an element in the low half moves up, one in the high half stays.
HWY_INLINE TileTerms load_halves(const std::uint32_t* pairs, std::int64_t k) {
  const int drop = k % 2 == 0 ? 0 : 16;
  return load_terms([pairs, drop](std::int64_t offset) {
    const hn::RebindToUnsigned<TileTag> du;
    const auto half = hn::ShiftRightSame(hn::Load(du, pairs + offset), drop);
    return hn::BitCast(TileTag(), hn::ShiftLeft<16>(half));
  });
}

template <int Rows>
void float_tile(const TileArgs& args) {
  const auto* a = static_cast<const float*>(args.a);  // [depth, a_pitch]
  const auto* b = static_cast<const float*>(args.b);  // [depth, kTileColumns]
  TileSums<Rows> sums;
  clear(sums);
  for (std::int64_t k = 0; k < args.depth; ++k, a += args.a_pitch, b += kTileColumns)
    add_term(sums, a, load_floats(b));
  fold(sums, args);
}

template <int Rows>
void wide_tile(const TileArgs& args) {
  const auto* a = static_cast<const float*>(args.a);          // [depth, a_pitch]
  const auto* b = static_cast<const std::uint32_t*>(args.b);  // [depth / 2, kTileColumns]
  TileSums<Rows> sums;
  clear(sums);
  // One term a turn: with two, the compiler runs out of registers.
  for (std::int64_t k = 0; k < args.depth; ++k, a += args.a_pitch)
    add_term(sums, a, load_halves(b + k / 2 * kTileColumns, k));
  fold(sums, args);
}

void widen_panel(const void* pairs, std::int64_t depth, float* panel) {
  const auto* b = static_cast<const std::uint32_t*>(pairs);  // [depth / 2, kTileColumns]
  for (std::int64_t k = 0; k < depth; ++k, panel += kTileColumns) {
    const TileTerms terms = load_halves(b + k / 2 * kTileColumns, k);
    for (int j = 0; j < kTileVectors; ++j)
      hn::Store(terms.at[j], TileTag(), panel + j * kTileLanes);
  }
}

template <int... Rows>
constexpr std::array<TileFunction, sizeof...(Rows)> float_tile_table(
    std::integer_sequence<int, Rows...>) {
  return {&float_tile<Rows + 1>...};
}

template <int... Rows>
constexpr std::array<TileFunction, sizeof...(Rows)> wide_tile_table(
    std::integer_sequence<int, Rows...>) {
  return {&wide_tile<Rows + 1>...};
}

constexpr auto kFloatTiles = float_tile_table(std::make_integer_sequence<int, kTileRows>());
constexpr auto kWideTiles = wide_tile_table(std::make_integer_sequence<int, kTileRows>());

}  // namespace
}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_MATMUL_TILE_INL_H
