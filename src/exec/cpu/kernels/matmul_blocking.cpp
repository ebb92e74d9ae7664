#include "exec/cpu/kernels/matmul_blocking.h"

#include <algorithm>
#include <utility>

namespace parhelion::exec::cpu {
namespace {

constexpr std::int64_t kTermsPerThread = 1 << 15;  // fewer cost less than waking a thread
constexpr std::int64_t kBlockRows = 1036;
constexpr std::int64_t kBlockColumns = 1536;
constexpr std::int64_t kThinRows = 64;

std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

std::int64_t align(std::int64_t bytes) {
  return ceil_div(bytes, kMatmulAlignment) * kMatmulAlignment;
}

std::int64_t useful_threads(const MatmulShape& shape) {
  const std::int64_t terms = shape.m * shape.n * std::max<std::int64_t>(shape.k, 1);
  return std::clamp<std::int64_t>(terms / kTermsPerThread, 1, std::max(shape.num_threads, 1));
}

// One row has no neighbours; more are packed by groups of four or eight.
std::int64_t pitch_of(const MatmulBlocking& blocking) {
  const std::int64_t tile_rows = blocking.tile_rows;
  const std::int64_t step = blocking.kernels.dot.pitch_step;
  if (blocking.dot && step > 0) return ceil_div(tile_rows, step) * step;
  if (tile_rows == 1) return 1;
  return tile_rows <= 4 ? 4 : ceil_div(tile_rows, 8) * 8;
}

// Tiles of the largest block that one thread's `tiles` fall into.
std::int64_t block_tiles(std::int64_t tiles, std::int64_t threads, std::int64_t largest) {
  return std::clamp<std::int64_t>(ceil_div(tiles, threads), 1, largest);
}

std::int64_t tallest_tile(const MatmulBlocking& blocking) {
  return blocking.dot ? blocking.kernels.dot.rows : blocking.kernels.tile_rows;
}

void set_grid(MatmulBlocking& blocking, std::int64_t rows, std::int64_t columns) {
  const MatmulKernels& kernels = blocking.kernels;
  blocking.row_threads = rows;
  blocking.column_threads = columns;
  blocking.block_rows = block_tiles(blocking.row_tiles, rows, kBlockRows / tallest_tile(blocking));
  blocking.block_columns =
      block_tiles(blocking.column_tiles, columns, kBlockColumns / kernels.tile_columns);
}

// What one thread of a grid does: tiles first, then lines that it packs or reads again per block.
std::pair<std::int64_t, std::int64_t> grid_cost(const MatmulBlocking& blocking) {
  const std::int64_t rows = ceil_div(blocking.row_tiles, blocking.row_threads);
  const std::int64_t columns = ceil_div(blocking.column_tiles, blocking.column_threads);
  const std::int64_t row_blocks = ceil_div(rows, blocking.block_rows);
  const std::int64_t column_blocks = ceil_div(columns, blocking.block_columns);
  return {rows * columns, rows * blocking.tile_rows * column_blocks +
                              columns * blocking.kernels.tile_columns * row_blocks};
}

// The grid of threads whose largest share costs least; among equals the one that splits b most.
void choose_grid(MatmulBlocking& blocking, std::int64_t threads) {
  MatmulBlocking trial = blocking;
  set_grid(blocking, 1, threads);
  for (std::int64_t columns = threads - 1; columns >= 1; --columns) {
    set_grid(trial, threads / columns, columns);
    if (grid_cost(trial) < grid_cost(blocking)) set_grid(blocking, threads / columns, columns);
  }
}

}  // namespace

Range piece(Range whole, std::int64_t parts, std::int64_t index) {
  return {whole.begin + whole.size() * index / parts,
          whole.begin + whole.size() * (index + 1) / parts};
}

std::int64_t pieces(Range whole, std::int64_t largest) { return ceil_div(whole.size(), largest); }

std::int64_t panel_bytes(const MatmulKernels& kernels, bool pairs, std::int64_t depth) {
  return (pairs ? ceil_div(depth, 2) : depth) * kernels.tile_columns * 4;
}

std::int64_t left_panel_bytes(const MatmulBlocking& blocking, std::int64_t depth) {
  if (!blocking.dot) return 4 * blocking.a_pitch * depth;
  const std::int64_t step = blocking.kernels.dot.depth_step;
  return 2 * blocking.a_pitch * ceil_div(depth, step) * step;
}

MatmulBlocking matmul_blocking(const MatmulShape& shape) {
  MatmulBlocking blocking;
  blocking.kernels = matmul_kernels(shape.tier);
  const MatmulKernels& kernels = blocking.kernels;
  blocking.pairs = shape.b == ir::Kind::bf16;
  blocking.dot = blocking.pairs && shape.a == ir::Kind::bf16 && kernels.dot.tiles != nullptr;
  if (shape.m > 0) {
    blocking.tile_rows = ceil_div(shape.m, ceil_div(shape.m, tallest_tile(blocking)));
    blocking.row_tiles = ceil_div(shape.m, blocking.tile_rows);
  }
  blocking.column_tiles = ceil_div(shape.n, kernels.tile_columns);
  choose_grid(blocking, useful_threads(shape));
  const std::int64_t columns = blocking.block_columns * kernels.tile_columns;
  blocking.thin = shape.packed && shape.m <= kThinRows;
  blocking.wide = blocking.pairs && !blocking.dot && !blocking.thin;
  const std::int64_t depth = std::min(shape.k, kFoldDepth);
  blocking.group_rows =
      blocking.thin ? blocking.block_rows : std::min(blocking.block_rows, kPanelsPerPack);
  blocking.a_pitch = pitch_of(blocking);
  blocking.a_panel_bytes = align(left_panel_bytes(blocking, blocking.thin ? shape.k : depth));
  blocking.a_bytes = blocking.group_rows * blocking.a_panel_bytes;
  if (!shape.packed || blocking.wide) {
    const bool pairs = blocking.pairs && !blocking.wide;
    blocking.b_bytes = align(blocking.block_columns * panel_bytes(kernels, pairs, depth));
  }
  blocking.total_bytes = align(4 * blocking.block_rows * blocking.tile_rows * columns);
  return blocking;
}

}  // namespace parhelion::exec::cpu
