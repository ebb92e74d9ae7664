// Transposition of matrix lines into panels, compiled once per processor tier.
#if defined(PARHELION_MATMUL_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_MATMUL_TRANSPOSE_INL_H
#undef PARHELION_MATMUL_TRANSPOSE_INL_H
#else
#define PARHELION_MATMUL_TRANSPOSE_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using PackTag = hn::CappedTag<std::uint32_t, 4>;
constexpr std::int64_t kPackLanes = HWY_TARGET == HWY_SCALAR ? 1 : 4;
using WideTag = hn::ScalableTag<std::uint32_t>;
constexpr std::int64_t kWideLanes = static_cast<std::int64_t>(HWY_LANES(std::uint32_t));

// A panel of 32-bit cells: f32 values or pairs of bf16, copied as they are.
struct CellSink {
  std::uint32_t* panel;
  std::int64_t pitch;
  template <class D>
  HWY_INLINE void put(D d, std::int64_t step, std::int64_t line, hn::Vec<D> cells) const {
    hn::StoreU(cells, d, panel + step * pitch + line);
  }
  HWY_INLINE void put_one(std::int64_t step, std::int64_t line, std::uint32_t cell) const {
    panel[step * pitch + line] = cell;
  }
};

// A panel of f32 made from pairs of bf16: one step of pairs gives two steps of values.
struct WideSink {
  std::uint32_t* panel;
  std::int64_t pitch;
  template <class D>
  HWY_INLINE void put(D d, std::int64_t step, std::int64_t line, hn::Vec<D> pairs) const {
    std::uint32_t* out = panel + 2 * step * pitch + line;
    hn::StoreU(hn::ShiftLeft<16>(pairs), d, out);
    hn::StoreU(hn::And(pairs, hn::Set(d, 0xffff0000u)), d, out + pitch);
  }
  HWY_INLINE void put_one(std::int64_t step, std::int64_t line, std::uint32_t pair) const {
    panel[2 * step * pitch + line] = pair << 16;
    panel[(2 * step + 1) * pitch + line] = pair & 0xffff0000u;
  }
};

HWY_INLINE std::uint32_t load_cell(const std::byte* at) {
  std::uint32_t cell;
  std::memcpy(&cell, at, sizeof cell);
  return cell;
}

// Some lines along the depth: the i-th begins at lines[i].
template <std::size_t Count>
struct Lines {
  const std::byte* at[Count];
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::size_t line, std::int64_t step) const {
    return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(at[line]) + step);
  }
};

#if HWY_TARGET != HWY_SCALAR

template <class D>
struct Square {
  hn::Vec<D> column[4];
};

// Transposes four by four within each 128-bit block of four lines, from line `first` on:
// column s holds step 4 b + s of them in block b.
template <class D, std::size_t Count>
HWY_INLINE Square<D> transpose(D d, const Lines<Count>& lines, std::size_t first,
                               std::int64_t step) {
  const hn::Repartition<std::uint64_t, D> d64;
  const auto row0 = lines.load(d, first, step), row1 = lines.load(d, first + 1, step);
  const auto row2 = lines.load(d, first + 2, step), row3 = lines.load(d, first + 3, step);
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, row0, row1));
  const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, row0, row1));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, row2, row3));
  const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, row2, row3));
  return {{hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)),
           hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)),
           hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)),
           hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23))}};
}

#if HWY_MAX_BYTES >= 32

// Stores eight lines of step `step` and, in wider vectors, of step + 8.
template <class D, class Sink>
HWY_INLINE void put_eight(D d, std::int64_t step, std::int64_t line, hn::Vec<D> cells,
                          const Sink& sink) {
  if constexpr (kWideLanes == 16) {
    const hn::Half<D> half;
    sink.put(half, step, line, hn::LowerHalf(half, cells));
    sink.put(half, step + 8, line, hn::UpperHalf(half, cells));
  } else {
    sink.put(d, step, line, cells);
  }
}

// Packs eight lines over as many steps as a vector has lanes.
template <class Sink>
HWY_INLINE void pack_eight_lines(const Lines<8>& lines, std::int64_t step, std::int64_t line,
                                 const Sink& sink) {
  const WideTag d;
  const Square<WideTag> upper = transpose(d, lines, 0, step);
  const Square<WideTag> lower = transpose(d, lines, 4, step);
#pragma GCC unroll 4
  for (int s = 0; s < 4; ++s) {
    const auto even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(lower.column[s]), upper.column[s]);
    const auto odd = hn::OddEvenBlocks(lower.column[s], hn::SwapAdjacentBlocks(upper.column[s]));
    put_eight(d, step + s, line, even, sink);
    put_eight(d, step + 4 + s, line, odd, sink);
  }
}

#endif  // HWY_MAX_BYTES >= 32

// Packs four lines, from line `first` on, over four steps.
template <std::size_t Count, class Sink>
HWY_INLINE void pack_four_lines(const Lines<Count>& lines, std::size_t first, std::int64_t step,
                                std::int64_t line, const Sink& sink) {
  const PackTag d;
  const Square<PackTag> square = transpose(d, lines, first, step);
#pragma GCC unroll 4
  for (int s = 0; s < 4; ++s)
    sink.put(d, step + s, line + static_cast<std::int64_t>(first), square.column[s]);
}

#endif  // HWY_TARGET != HWY_SCALAR

// Steps that take one cache line of each line.
constexpr std::int64_t kVisit = 16;

// Packs kVisit steps of some lines.
template <std::size_t Count, class Sink>
HWY_INLINE void pack_visit(const Lines<Count>& lines, std::int64_t begin, std::int64_t line,
                           const Sink& sink) {
#if HWY_MAX_BYTES >= 32
  if constexpr (Count == 8) {
    for (std::int64_t step = begin; step < begin + kVisit; step += kWideLanes)
      pack_eight_lines(lines, step, line, sink);
    return;
  }
#endif
#if HWY_TARGET != HWY_SCALAR
  if constexpr (Count % 4 == 0) {
    for (std::int64_t step = begin; step < begin + kVisit; step += 4) {
      for (std::size_t first = 0; first < Count; first += 4)
        pack_four_lines(lines, first, step, line, sink);
    }
    return;
  }
#endif
  for (std::int64_t step = begin; step < begin + kVisit; ++step) {
    for (std::size_t i = 0; i < Count; ++i)
      sink.put_one(step, line + static_cast<std::int64_t>(i), load_cell(lines.at[i] + 4 * step));
  }
}

}  // namespace
}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_MATMUL_TRANSPOSE_INL_H
