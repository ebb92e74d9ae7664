// Packing of matmul operands into panels, compiled once per processor tier. See matmul_kernels.h.
#if defined(PARHELION_MATMUL_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_MATMUL_PACK_INL_H
#undef PARHELION_MATMUL_PACK_INL_H
#else
#define PARHELION_MATMUL_PACK_INL_H
#endif

#include "exec/cpu/kernels/matmul_kernels.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using PackTag = hn::CappedTag<std::uint32_t, 4>;
using PackVector = hn::Vec<PackTag>;
constexpr std::int64_t kPackLanes = HWY_TARGET == HWY_SCALAR ? 1 : 4;

// A panel of 32-bit cells: f32 values or pairs of bf16, copied as they are.
struct CellSink {
  std::uint32_t* panel;
  std::int64_t pitch;
  void put(std::int64_t step, std::int64_t line, PackVector cells) const {
    hn::StoreU(cells, PackTag(), panel + step * pitch + line);
  }
  void put_one(std::int64_t step, std::int64_t line, std::uint32_t cell) const {
    panel[step * pitch + line] = cell;
  }
};

// A panel of f32 made from pairs of bf16: one step of pairs gives two steps of values.
struct WideSink {
  std::uint32_t* panel;
  std::int64_t pitch;
  void put(std::int64_t step, std::int64_t line, PackVector pairs) const {
    const PackTag d;
    std::uint32_t* out = panel + 2 * step * pitch + line;
    hn::StoreU(hn::ShiftLeft<16>(pairs), d, out);
    hn::StoreU(hn::And(pairs, hn::Set(d, 0xffff0000u)), d, out + pitch);
  }
  void put_one(std::int64_t step, std::int64_t line, std::uint32_t pair) const {
    panel[2 * step * pitch + line] = pair << 16;
    panel[(2 * step + 1) * pitch + line] = pair & 0xffff0000u;
  }
};

HWY_INLINE std::uint32_t load_cell(const std::byte* at) {
  std::uint32_t cell;
  std::memcpy(&cell, at, sizeof cell);
  return cell;
}

#if HWY_TARGET != HWY_SCALAR
// Transposes four lines by four steps.
template <class Sink>
HWY_INLINE void pack_square(const std::byte* const (&lines)[4], std::int64_t step,
                            std::int64_t line, const Sink& sink) {
  const PackTag d;
  const hn::Repartition<std::uint64_t, PackTag> d64;
  PackVector row[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    row[i] = hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(lines[i]) + step);
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, row[0], row[1]));
  const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, row[0], row[1]));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, row[2], row[3]));
  const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, row[2], row[3]));
  sink.put(step, line, hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)));
  sink.put(step + 1, line, hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)));
  sink.put(step + 2, line, hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)));
  sink.put(step + 3, line, hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23)));
}
#endif

// Packs the steps from `begin` to `end` of four lines.
template <class Sink>
HWY_INLINE void pack_four_lines(const std::byte* const (&lines)[4], std::int64_t begin,
                                std::int64_t end, std::int64_t line, const Sink& sink) {
  std::int64_t step = begin;
#if HWY_TARGET != HWY_SCALAR
  for (; step + 4 <= end; step += 4) pack_square(lines, step, line, sink);
#endif
  for (; step < end; ++step) {
    for (int i = 0; i < 4; ++i) sink.put_one(step, line + i, load_cell(lines[i] + 4 * step));
  }
}

// Lines that run along the depth, in steps of one cell. A group past the last line repeats that
// line.
template <class Sink>
HWY_INLINE void pack_along_depth(const PackArgs& args, std::int64_t line_bytes, std::int64_t steps,
                                 const Sink& sink) {
  constexpr std::int64_t kStepsPerCacheLine = 16;
  const auto* source = static_cast<const std::byte*>(args.source);
  if (args.pitch == 1) {
    for (std::int64_t step = 0; step < steps; ++step)
      sink.put_one(step, 0, load_cell(source + 4 * step));
    return;
  }
  for (std::int64_t begin = 0; begin < steps; begin += kStepsPerCacheLine) {
    const std::int64_t end = HWY_MIN(begin + kStepsPerCacheLine, steps);
    for (std::int64_t line = 0; line < args.pitch; line += 4) {
      const std::byte* lines[4];
      for (int i = 0; i < 4; ++i)
        lines[i] = source + HWY_MIN(line + i, args.lines - 1) * line_bytes;
      pack_four_lines(lines, begin, end, line, sink);
    }
  }
}

// The last step of an odd depth in a panel row of its own, each value moved up by `shift` bits.
HWY_INLINE void pack_last_halves(const PackArgs& args, std::int64_t panel_row, int shift) {
  const auto* source = static_cast<const std::uint16_t*>(args.source);
  auto* panel = static_cast<std::uint32_t*>(args.panel) + panel_row * args.pitch;
  for (std::int64_t line = 0; line < args.pitch; ++line) {
    const std::int64_t from = HWY_MIN(line, args.lines - 1);
    panel[line] = std::uint32_t{source[from * args.stride + args.depth - 1]} << shift;
  }
}

// bf16 bit patterns in the low halves of cells.
HWY_INLINE PackVector load_halves(const std::uint16_t* at) {
  const PackTag d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint16_t, PackTag>(), at));
}

// One panel row from lines that lie side by side; zero from `lines` to `pitch`.
// `many(line)` gives a vector of cells and `one(line)` gives one.
template <class Many, class One>
HWY_INLINE void pack_row(const PackArgs& args, std::uint32_t* row, Many many, One one) {
  std::int64_t line = 0;
  for (; line + kPackLanes <= args.lines; line += kPackLanes)
    hn::StoreU(many(line), PackTag(), row + line);
  for (; line < args.lines; ++line) row[line] = one(line);
  for (; line < args.pitch; ++line) row[line] = 0;
}

void pack_float(const PackArgs& args) {
  auto* panel = static_cast<std::uint32_t*>(args.panel);
  if (args.run == Run::along_depth)
    return pack_along_depth(args, 4 * args.stride, args.depth, CellSink{panel, args.pitch});
  const auto* source = static_cast<const std::uint32_t*>(args.source);
  for (std::int64_t k = 0; k < args.depth; ++k, source += args.stride)
    pack_row(
        args, panel + k * args.pitch,
        [&](std::int64_t line) { return hn::LoadU(PackTag(), source + line); },
        [&](std::int64_t line) { return source[line]; });
}

void pack_wide(const PackArgs& args) {
  auto* panel = static_cast<std::uint32_t*>(args.panel);
  if (args.run == Run::along_depth) {
    pack_along_depth(args, 2 * args.stride, args.depth / 2, WideSink{panel, args.pitch});
    if (args.depth % 2 != 0) pack_last_halves(args, args.depth - 1, 16);
    return;
  }
  const auto* source = static_cast<const std::uint16_t*>(args.source);
  for (std::int64_t k = 0; k < args.depth; ++k, source += args.stride)
    pack_row(
        args, panel + k * args.pitch,
        [&](std::int64_t line) { return hn::ShiftLeft<16>(load_halves(source + line)); },
        [&](std::int64_t line) { return std::uint32_t{source[line]} << 16; });
}

void pack_pairs(const PackArgs& args) {
  auto* panel = static_cast<std::uint32_t*>(args.panel);
  const std::int64_t pairs = args.depth / 2;
  if (args.run == Run::along_depth) {
    pack_along_depth(args, 2 * args.stride, pairs, CellSink{panel, args.pitch});
    if (args.depth % 2 != 0) pack_last_halves(args, pairs, 0);
    return;
  }
  const auto* low = static_cast<const std::uint16_t*>(args.source);
  for (std::int64_t p = 0; p < pairs; ++p, low += 2 * args.stride) {
    const std::uint16_t* high = low + args.stride;
    pack_row(
        args, panel + p * args.pitch,
        [&](std::int64_t line) {
          return hn::Or(load_halves(low + line), hn::ShiftLeft<16>(load_halves(high + line)));
        },
        [&](std::int64_t line) {
          return std::uint32_t{low[line]} | (std::uint32_t{high[line]} << 16);
        });
  }
  if (args.depth % 2 == 0) return;
  pack_row(
      args, panel + pairs * args.pitch, [&](std::int64_t line) { return load_halves(low + line); },
      [&](std::int64_t line) { return std::uint32_t{low[line]}; });
}

}  // namespace
}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_MATMUL_PACK_INL_H
