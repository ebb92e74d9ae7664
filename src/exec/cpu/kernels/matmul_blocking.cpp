#include "exec/cpu/kernels/matmul_blocking.h"

#include <algorithm>

namespace parhelion::exec::cpu {
namespace {

constexpr std::int64_t kTermsPerThread = 1 << 15;  // fewer cost less than waking a thread
constexpr std::int64_t kBlockRows = 1008;
constexpr std::int64_t kBlockColumns = 512;

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
std::int64_t pitch_of(std::int64_t tile_rows) {
  if (tile_rows == 1) return 1;
  return tile_rows <= 4 ? 4 : ceil_div(tile_rows, 8) * 8;
}

// The grid of threads whose largest share is smallest; among equals the one that splits b most.
void choose_grid(MatmulBlocking& blocking, std::int64_t threads) {
  std::int64_t best = -1;
  for (std::int64_t columns = threads; columns >= 1; --columns) {
    const std::int64_t rows = threads / columns;
    const std::int64_t share =
        ceil_div(blocking.row_tiles, rows) * ceil_div(blocking.column_tiles, columns);
    if (best >= 0 && share >= best) continue;
    best = share;
    blocking.row_threads = rows;
    blocking.column_threads = columns;
  }
}

// Tiles of the largest block that one thread's `tiles` fall into.
std::int64_t block_tiles(std::int64_t tiles, std::int64_t threads, std::int64_t largest) {
  const std::int64_t own = ceil_div(tiles, threads);
  return std::min(own, largest);
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

MatmulBlocking matmul_blocking(const MatmulShape& shape) {
  MatmulBlocking blocking;
  blocking.kernels = matmul_kernels(shape.tier);
  const MatmulKernels& kernels = blocking.kernels;
  blocking.pairs = shape.b == ir::Kind::bf16;
  blocking.dot = blocking.pairs && shape.a == ir::Kind::bf16 && kernels.dot_tiles != nullptr;
  if (shape.m > 0) {
    blocking.tile_rows = ceil_div(shape.m, ceil_div(shape.m, kernels.tile_rows));
    blocking.row_tiles = ceil_div(shape.m, blocking.tile_rows);
  }
  blocking.column_tiles = ceil_div(shape.n, kernels.tile_columns);
  choose_grid(blocking, useful_threads(shape));
  blocking.block_rows =
      block_tiles(blocking.row_tiles, blocking.row_threads, kBlockRows / kernels.tile_rows);
  blocking.block_columns = block_tiles(blocking.column_tiles, blocking.column_threads,
                                       kBlockColumns / kernels.tile_columns);
  const std::int64_t columns = blocking.block_columns * kernels.tile_columns;
  blocking.thin = shape.packed && blocking.row_tiles == 1;
  const std::int64_t depth = std::min(shape.k, kFoldDepth);
  blocking.group_rows = std::min(blocking.block_rows, kPanelsPerPack);
  blocking.a_pitch = pitch_of(blocking.tile_rows);
  blocking.a_panel_bytes = align(4 * blocking.a_pitch * (blocking.thin ? shape.k : depth));
  blocking.a_bytes = blocking.group_rows * blocking.a_panel_bytes;
  if (!shape.packed)
    blocking.b_bytes = align(blocking.block_columns * panel_bytes(kernels, blocking.pairs, depth));
  blocking.total_bytes = align(4 * blocking.block_rows * kernels.tile_rows * columns);
  return blocking;
}

}  // namespace parhelion::exec::cpu
