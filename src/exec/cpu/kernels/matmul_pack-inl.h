// Packing of matmul operands into panels, compiled once per processor tier. See matmul_kernels.h.
#if defined(PARHELION_MATMUL_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PARHELION_MATMUL_PACK_INL_H
#undef PARHELION_MATMUL_PACK_INL_H
#else
#define PARHELION_MATMUL_PACK_INL_H
#endif

#include "exec/cpu/kernels/matmul_kernels.h"
#include "exec/cpu/kernels/matmul_transpose-inl.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace parhelion::exec::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// One panel of a pack: where it lies and which lines fill it.
struct Panel {
  std::uint32_t* cells;
  std::int64_t first_line;
  std::int64_t lines;
};

HWY_INLINE Panel panel_of(const PackArgs& args, std::int64_t index) {
  const std::int64_t first = index * args.panel_lines;
  auto* cells = static_cast<std::byte*>(args.panel) + index * args.panel_bytes;
  return {reinterpret_cast<std::uint32_t*>(cells), first, HWY_MIN(args.pitch, args.lines - first)};
}

// The lines of a pack that run along the depth.
struct LineSource {
  const std::byte* first;
  std::int64_t line_bytes;
  std::int64_t count;

  // Count lines from `line` on, of which those past the last repeat it.
  template <std::size_t Count>
  HWY_INLINE Lines<Count> from(std::int64_t line) const {
    Lines<Count> lines;
    for (std::size_t i = 0; i < Count; ++i) {
      const std::int64_t index = HWY_MIN(line + static_cast<std::int64_t>(i), count - 1);
      lines.at[i] = first + index * line_bytes;
    }
    return lines;
  }
};

// Packs Count lines over `steps` steps of one cell, and asks for the lines that come next.
template <std::size_t Count, class Sink>
HWY_INLINE void pack_line_group(const LineSource& source, const Panel& panel, std::int64_t line,
                                std::int64_t steps, const Sink& sink) {
  constexpr auto kLines = static_cast<std::int64_t>(Count);
  const auto lines = source.from<Count>(panel.first_line + line);
  const auto next = source.from<Count>(panel.first_line + line + kLines);
  std::int64_t begin = 0;
  for (; begin + kVisit <= steps; begin += kVisit) {
    for (const std::byte* at : next.at) hwy::Prefetch(at + 4 * begin);
    pack_visit(lines, begin, line, sink);
  }
  for (; begin < steps; ++begin) {
    for (std::size_t i = 0; i < Count; ++i)
      sink.put_one(begin, line + static_cast<std::int64_t>(i), load_cell(lines.at[i] + 4 * begin));
  }
}

// Packs lines that run along the depth; `element_bytes` is 2 where a step is a pair.
template <class Sink>
HWY_INLINE void pack_along_depth(const PackArgs& args, std::int64_t element_bytes) {
  const LineSource source{static_cast<const std::byte*>(args.source), element_bytes * args.stride,
                          args.lines};
  const std::int64_t steps = args.depth * element_bytes / 4;
  for (std::int64_t index = 0; index < args.panels; ++index) {
    const Panel panel = panel_of(args, index);
    const Sink sink{panel.cells, args.pitch};
    std::int64_t line = 0;
    for (; line + 8 <= args.pitch; line += 8) pack_line_group<8>(source, panel, line, steps, sink);
    for (; line + 4 <= args.pitch; line += 4) pack_line_group<4>(source, panel, line, steps, sink);
    for (; line < args.pitch; ++line) pack_line_group<1>(source, panel, line, steps, sink);
  }
}

// The last step of an odd depth in panel row `row`, each value moved up by `shift` bits.
HWY_INLINE void pack_last_halves(const PackArgs& args, std::int64_t row, int shift) {
  const auto* source = static_cast<const std::uint16_t*>(args.source);
  for (std::int64_t index = 0; index < args.panels; ++index) {
    const Panel panel = panel_of(args, index);
    for (std::int64_t line = 0; line < args.pitch; ++line) {
      const std::int64_t from = HWY_MIN(panel.first_line + line, args.lines - 1);
      panel.cells[row * args.pitch + line] =
          std::uint32_t{source[from * args.stride + args.depth - 1]} << shift;
    }
  }
}

// Where the cells of one panel row come from when lines lie side by side: f32 values.
struct FloatRow {
  const std::uint32_t* at;
  template <class D>
  HWY_INLINE hn::Vec<D> many(D d, std::int64_t line) const {
    return hn::LoadU(d, at + line);
  }
  HWY_INLINE std::uint32_t one(std::int64_t line) const { return at[line]; }
};

// bf16 bits moved up by Shift: f32 values, or pairs that have no second element.
template <int Shift>
struct HalfRow {
  const std::uint16_t* at;
  template <class D>
  HWY_INLINE hn::Vec<D> many(D d, std::int64_t line) const {
    return hn::ShiftLeft<Shift>(
        hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint16_t, D>(), at + line)));
  }
  HWY_INLINE std::uint32_t one(std::int64_t line) const { return std::uint32_t{at[line]} << Shift; }
};

// Pairs of bf16 from two rows.
struct PairRow {
  HalfRow<0> earlier;
  HalfRow<16> later;
  template <class D>
  HWY_INLINE hn::Vec<D> many(D d, std::int64_t line) const {
    return hn::Or(earlier.many(d, line), later.many(d, line));
  }
  HWY_INLINE std::uint32_t one(std::int64_t line) const {
    return earlier.one(line) | later.one(line);
  }
};

// Panel row `index` of every panel, from lines that lie side by side; zero past the last one.
template <class Row>
HWY_INLINE void pack_row(const PackArgs& args, std::int64_t index, const Row& row) {
  for (std::int64_t p = 0; p < args.panels; ++p) {
    const Panel panel = panel_of(args, p);
    std::uint32_t* cells = panel.cells + index * args.pitch;
    std::int64_t line = 0;
    for (; line + kWideLanes <= panel.lines; line += kWideLanes)
      hn::StoreU(row.many(WideTag(), panel.first_line + line), WideTag(), cells + line);
    for (; line + kPackLanes <= panel.lines; line += kPackLanes)
      hn::StoreU(row.many(PackTag(), panel.first_line + line), PackTag(), cells + line);
    for (; line < panel.lines; ++line) cells[line] = row.one(panel.first_line + line);
    for (; line < args.pitch; ++line) cells[line] = 0;
  }
}

// Asks for the source row that a later step reads. Rows are far apart, so the processor does not
// see them coming; more than a few would not fit one set of the first cache.
template <class T>
HWY_INLINE void fetch_row(const PackArgs& args, const T* source, std::int64_t k) {
  constexpr std::int64_t kRowsAhead = 8;
  constexpr std::int64_t kCacheLine = 64 / sizeof(T);
  if (k + kRowsAhead >= args.depth) return;
  const T* row = source + (k + kRowsAhead) * args.stride;
  const std::int64_t lines = HWY_MIN(args.lines, args.panels * args.panel_lines);
  for (std::int64_t line = 0; line < lines; line += kCacheLine) hwy::Prefetch(row + line);
}

void pack_float(const PackArgs& args) {
  if (args.run == Run::along_depth) return pack_along_depth<CellSink>(args, 4);
  const auto* source = static_cast<const std::uint32_t*>(args.source);
  for (std::int64_t k = 0; k < args.depth; ++k) {
    fetch_row(args, source, k);
    pack_row(args, k, FloatRow{source + k * args.stride});
  }
}

void pack_wide(const PackArgs& args) {
  if (args.run == Run::along_depth) {
    pack_along_depth<WideSink>(args, 2);
    if (args.depth % 2 != 0) pack_last_halves(args, args.depth - 1, 16);
    return;
  }
  const auto* source = static_cast<const std::uint16_t*>(args.source);
  for (std::int64_t k = 0; k < args.depth; ++k) {
    fetch_row(args, source, k);
    pack_row(args, k, HalfRow<16>{source + k * args.stride});
  }
}

void pack_pairs(const PackArgs& args) {
  const std::int64_t pairs = args.depth / 2;
  if (args.run == Run::along_depth) {
    pack_along_depth<CellSink>(args, 2);
    if (args.depth % 2 != 0) pack_last_halves(args, pairs, 0);
    return;
  }
  const auto* source = static_cast<const std::uint16_t*>(args.source);
  for (std::int64_t p = 0; p < pairs; ++p) {
    const std::uint16_t* earlier = source + 2 * p * args.stride;
    fetch_row(args, source, 2 * p);
    fetch_row(args, source, 2 * p + 1);
    pack_row(args, p, PairRow{{earlier}, {earlier + args.stride}});
  }
  if (args.depth % 2 != 0) pack_row(args, pairs, HalfRow<0>{source + 2 * pairs * args.stride});
}

}  // namespace
}  // namespace parhelion::exec::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PARHELION_MATMUL_PACK_INL_H
