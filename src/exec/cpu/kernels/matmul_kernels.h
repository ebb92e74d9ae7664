#pragma once

#include "exec/cpu/kernels/tier.h"
#include "ir/element.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// Terms of a dot product that one chain of fused multiply-adds sums.
inline constexpr std::int64_t kFoldDepth = 256;

/// One block of the fold over one register tile: total[r][j] (+)= sum over depth of a[k][r]
/// b[k][j].
///
/// Panels hold their lines side by side, depth outermost: f32 [depth][pitch], or pairs
/// [ceil(depth / 2)][pitch] of two bf16 of one line, the earlier in the low half.
struct TileArgs {
  const void* a = nullptr;
  std::int64_t a_pitch = 0;
  const void* b = nullptr;  // pitch is the tile's width
  std::int64_t depth = 0;   // at most kFoldDepth
  float* total = nullptr;   // pitch total_pitch, both multiples of the tile's width
  std::int64_t total_pitch = 0;
  bool first = true;  // the first block stores, later ones add
};
using TileFunction = void (*)(const TileArgs& args);

/// Where the elements of one line (a row of A or a column of B) lie in memory.
enum class Run : std::uint8_t {
  along_depth,  ///< side by side; lines are `stride` apart
  along_lines,  ///< `stride` apart; lines are side by side
};

/// Copies lines of `depth` elements into panels: panel p holds the lines from p * panel_lines on.
///
/// A panel is filled up to its pitch with the lines that follow, then with zeros or copies of
/// others: no tile result that is kept reads them.
struct PackArgs {
  const void* source = nullptr;
  std::int64_t stride = 0;  // in elements
  Run run = Run::along_depth;
  std::int64_t lines = 0;  // all that follow in the matrix
  std::int64_t depth = 0;
  void* panel = nullptr;
  std::int64_t pitch = 0;  // 1, or a multiple of 4
  std::int64_t panels = 1;
  std::int64_t panel_lines = 0;
  std::int64_t panel_bytes = 0;  // from one panel to the next
};
using PackFunction = void (*)(const PackArgs& args);

/// Rounds one row of totals into the output, or adds it: out[j] (+)= total[j] + bias[j].
struct StoreArgs {
  float* total = nullptr;  // overwritten
  const void* bias = nullptr;
  ir::Kind bias_kind = ir::Kind::f32;
  void* output = nullptr;
  ir::Kind output_kind = ir::Kind::f32;
  bool accumulate = false;
  std::int64_t count = 0;
};
using StoreFunction = void (*)(const StoreArgs& args);

/// Unpacks a panel of b from pairs over `depth` terms into f32 [depth][tile width].
using WidenFunction = void (*)(const void* pairs, std::int64_t depth, float* panel);

/// Tiles of two bf16 operands by instructions that sum several products.
struct DotKernels {
  const TileFunction* tiles = nullptr;  // indexed by rows - 1; null where the processor has none
  std::int64_t rows = 0;                // of the tallest tile
  std::int64_t pitch_step = 0;          // the pitch of a panel of a is a multiple; 0: as for others
  std::int64_t depth_step = 0;          // a panel of a is filled up to a multiple of these terms
  PackFunction pack = nullptr;          // bf16 to panels of a
  void (*release)() = nullptr;          // what a thread calls after its last tile; null: nothing
};

/// The kernels of one tier. Tiles are indexed by rows - 1.
struct MatmulKernels {
  std::int64_t tile_rows = 0;
  std::int64_t tile_columns = 0;
  const TileFunction* float_tiles = nullptr;  // f32 a, f32 b
  const TileFunction* wide_tiles = nullptr;   // f32 a, pairs b, widened
  DotKernels dot;                             // bf16 a, pairs b
  PackFunction pack_float = nullptr;          // f32 to f32
  PackFunction pack_wide = nullptr;           // bf16 to f32
  PackFunction pack_pairs = nullptr;          // bf16 to pairs
  WidenFunction widen = nullptr;
  StoreFunction store = nullptr;
  bool fused = true;  // multiply-adds round once
};

/// The kernels of `tier`, which this processor must have.
MatmulKernels matmul_kernels(Tier tier);

}  // namespace parhelion::exec::cpu
