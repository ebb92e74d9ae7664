#pragma once

#include "exec/cpu/kernels/matmul.h"
#include "exec/cpu/kernels/matmul_kernels.h"
#include "exec/cpu/kernels/range.h"

#include <cstdint>

namespace parhelion::exec::cpu {

/// Panels that are packed together: their source rows then are long enough to stream.
inline constexpr std::int64_t kPanelsPerPack = 4;

/// The `index`-th of `parts` nearly equal pieces of `whole`.
Range piece(Range whole, std::int64_t parts, std::int64_t index);

/// Pieces of at most `largest` that `whole` falls into.
std::int64_t pieces(Range whole, std::int64_t largest);

/// How a product is cut into register tiles, blocks and threads: a function of its shape alone.
///
/// Each thread owns a rectangle of tiles. It walks it in blocks, whose totals stay in its workspace
/// while the terms pass: per 256 terms one block of b (in the second cache), and one tile row of a
/// (in the first). Few rows on a packed b go the other way: each panel of b meets all of them at
/// once.
struct MatmulBlocking {
  MatmulKernels kernels;
  bool dot = false;            // tiles of kernels.dot
  bool pairs = false;          // b is packed as pairs
  bool wide = false;           // pairs of b are widened to f32 once a block, not in each tile
  bool thin = false;           // few rows on a packed b: a is packed over all terms, b read once
  std::int64_t tile_rows = 0;  // of every tile but the last: tiles are nearly equal
  std::int64_t row_tiles = 0;
  std::int64_t column_tiles = 0;
  std::int64_t row_threads = 1;
  std::int64_t column_threads = 1;
  std::int64_t block_rows = 0;     // largest block, in tiles
  std::int64_t block_columns = 0;  // largest block, in tiles
  std::int64_t group_rows = 0;     // tile rows of a that are packed together
  std::int64_t a_pitch = 0;        // of a panel of a
  std::int64_t a_panel_bytes = 0;
  std::int64_t a_bytes = 0;  // of workspace, per thread
  std::int64_t b_bytes = 0;
  std::int64_t total_bytes = 0;

  std::int64_t threads() const { return row_threads * column_threads; }
  std::int64_t thread_bytes() const { return a_bytes + b_bytes + total_bytes; }
};

MatmulBlocking matmul_blocking(const MatmulShape& shape);

/// Bytes of one panel of b over `depth` terms.
std::int64_t panel_bytes(const MatmulKernels& kernels, bool pairs, std::int64_t depth);

/// Bytes of one panel of a over `depth` terms.
std::int64_t left_panel_bytes(const MatmulBlocking& blocking, std::int64_t depth);

}  // namespace parhelion::exec::cpu
