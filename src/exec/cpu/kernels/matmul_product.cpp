#include "exec/cpu/kernels/matmul_product.h"

#include <algorithm>
#include <cstring>

namespace parhelion::exec::cpu {
namespace {

// The part of a workspace that one thread owns.
struct Scratch {
  std::byte* a = nullptr;
  std::byte* b = nullptr;
  float* total = nullptr;
};

// The tiles of one block, as numbers of tiles.
struct Block {
  Range rows;
  Range columns;
};

// The panels of b for some terms: the first one and the distance between them.
struct RightPanels {
  const std::byte* first = nullptr;
  std::int64_t distance = 0;
};

const std::byte* element_at(const MatrixView& view, std::int64_t row, std::int64_t col) {
  const std::int64_t index =
      view.transposed ? col * view.row_stride + row : row * view.row_stride + col;
  return static_cast<const std::byte*>(view.data) + index * ir::element(view.kind).block_bytes;
}

// The matrix rows of some tile rows.
Range rows_of(const MatmulProduct& product, Range tiles) {
  const std::int64_t height = product.blocking.tile_rows;
  return {tiles.begin * height, std::min(tiles.end * height, product.m)};
}

// The matrix columns of some tile columns.
Range columns_of(const MatmulProduct& product, Range tiles) {
  const std::int64_t width = product.blocking.kernels.tile_columns;
  return {tiles.begin * width, std::min(tiles.end * width, product.n)};
}

// Distance between the rows of a block's totals.
std::int64_t total_pitch(const MatmulProduct& product, const Block& block) {
  return block.columns.size() * product.blocking.kernels.tile_columns;
}

// Packs the terms `depth` of tile rows of a.
void pack_left(const MatmulProduct& product, const Scratch& scratch, Range tiles, Range depth) {
  const MatmulBlocking& blocking = product.blocking;
  const MatmulKernels& kernels = blocking.kernels;
  const MatrixView& a = product.args->a;
  const std::int64_t first = rows_of(product, tiles).begin;
  const PackArgs args{.source = element_at(a, first, depth.begin),
                      .stride = a.row_stride,
                      .run = a.transposed ? Run::along_lines : Run::along_depth,
                      .lines = a.rows - first,
                      .depth = depth.size(),
                      .panel = scratch.a,
                      .pitch = blocking.a_pitch,
                      .panels = tiles.size(),
                      .panel_lines = blocking.tile_rows,
                      .panel_bytes = blocking.a_panel_bytes};
  if (a.kind == ir::Kind::f32) return kernels.pack_float(args);
  return (blocking.dot ? kernels.dot.pack : kernels.pack_wide)(args);
}

RightPanels packed_panels(const MatmulProduct& product, const PackedView& packed, Range columns,
                          Range depth) {
  const MatmulBlocking& blocking = product.blocking;
  const std::int64_t distance = panel_bytes(blocking.kernels, blocking.pairs, product.k);
  return {static_cast<const std::byte*>(packed.data) + columns.begin * distance +
              panel_bytes(blocking.kernels, blocking.pairs, depth.begin),
          distance};
}

// The panels as f32 in the scratch, where every tile row of the block reads them.
RightPanels widen_panels(const MatmulKernels& kernels, const RightPanels& packed, Range columns,
                         Range depth, std::byte* scratch) {
  const std::int64_t distance = panel_bytes(kernels, false, depth.size());
  for (std::int64_t j = 0; j < columns.size(); ++j) {
    kernels.widen(packed.first + j * packed.distance, depth.size(),
                  reinterpret_cast<float*>(scratch + j * distance));
  }
  return {scratch, distance};
}

RightPanels right_panels(const MatmulProduct& product, const Scratch& scratch, Range columns,
                         Range depth) {
  const MatmulBlocking& blocking = product.blocking;
  const MatmulKernels& kernels = blocking.kernels;
  if (const auto* packed = std::get_if<PackedView>(&product.args->b)) {
    const RightPanels panels = packed_panels(product, *packed, columns, depth);
    return blocking.wide ? widen_panels(kernels, panels, columns, depth, scratch.b) : panels;
  }
  const bool pairs = blocking.pairs && !blocking.wide;
  const std::int64_t distance = panel_bytes(kernels, pairs, depth.size());
  const auto& b = std::get<MatrixView>(product.args->b);
  const PackFunction pack = b.kind == ir::Kind::f32 ? kernels.pack_float
                            : pairs                 ? kernels.pack_pairs
                                                    : kernels.pack_wide;
  pack_right(kernels, b, columns, depth, {pack, scratch.b, distance});
  return {scratch.b, distance};
}

TileFunction tile_function(const MatmulBlocking& blocking, std::int64_t rows) {
  const MatmulKernels& kernels = blocking.kernels;
  if (blocking.dot) return kernels.dot.tiles[rows - 1];
  const bool widened = blocking.pairs && !blocking.wide;
  return (widened ? kernels.wide_tiles : kernels.float_tiles)[rows - 1];
}

// One packed tile row of a against every panel of b, over the terms of `depth`.
void multiply_tile_row(const MatmulProduct& product, const Block& block, Range rows, TileArgs tile,
                       const RightPanels& b) {
  const TileFunction multiply = tile_function(product.blocking, rows.size());
  tile.b = b.first;
  for (std::int64_t j = 0; j < block.columns.size(); ++j) {
    multiply(tile);
    tile.b = static_cast<const std::byte*>(tile.b) + b.distance;
    tile.total += product.blocking.kernels.tile_columns;
  }
}

// Rounds the totals of `tiles` of the block's tile rows, which begin at `total`, into the output.
void store_rows(const MatmulProduct& product, const Block& block, Range tiles, float* total) {
  const MatmulArgs& args = *product.args;
  const Range rows = rows_of(product, tiles);
  const Range columns = columns_of(product, block.columns);
  const std::int64_t output_bytes = ir::element(args.c.kind).block_bytes;
  StoreArgs store{.total = total,
                  .bias_kind = args.bias.kind,
                  .output_kind = args.c.kind,
                  .accumulate = args.c.mode == OutputMode::accumulate,
                  .count = columns.size()};
  if (args.bias.data != nullptr) {
    store.bias = static_cast<const std::byte*>(args.bias.data) +
                 columns.begin * ir::element(args.bias.kind).block_bytes;
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    store.output = static_cast<std::byte*>(args.c.data) +
                   (row * args.c.row_stride + columns.begin) * output_bytes;
    product.blocking.kernels.store(store);
    store.total += total_pitch(product, block);
  }
}

// Adds the terms of `depth` to the totals of the block. After the last terms, each tile row is
// stored while its totals are still near.
void multiply_terms(const MatmulProduct& product, const Scratch& scratch, const Block& block,
                    Range depth) {
  const MatmulBlocking& blocking = product.blocking;
  const RightPanels b = right_panels(product, scratch, block.columns, depth);
  const std::int64_t groups = pieces(block.rows, blocking.group_rows);
  TileArgs tile{.a_pitch = blocking.a_pitch,
                .depth = depth.size(),
                .total = scratch.total,
                .total_pitch = total_pitch(product, block),
                .first = depth.begin == 0};
  for (std::int64_t g = 0; g < groups; ++g) {
    const Range group = piece(block.rows, groups, g);
    pack_left(product, scratch, group, depth);
    tile.a = scratch.a;
    for (std::int64_t row = group.begin; row < group.end; ++row) {
      multiply_tile_row(product, block, rows_of(product, {row, row + 1}), tile, b);
      if (depth.end == product.k) store_rows(product, block, {row, row + 1}, tile.total);
      tile.a = static_cast<const std::byte*>(tile.a) + blocking.a_panel_bytes;
      tile.total += blocking.tile_rows * tile.total_pitch;
    }
  }
}

// One tile row against one panel of a packed b, all terms.
void multiply_panel(const MatmulProduct& product, TileFunction multiply, TileArgs tile) {
  const MatmulBlocking& blocking = product.blocking;
  const std::int64_t a_step = left_panel_bytes(blocking, kFoldDepth);
  for (std::int64_t begin = 0; begin < product.k; begin += kFoldDepth) {
    tile.depth = std::min(kFoldDepth, product.k - begin);
    tile.first = begin == 0;
    multiply(tile);
    tile.a = static_cast<const std::byte*>(tile.a) + a_step;
    tile.b = static_cast<const std::byte*>(tile.b) +
             panel_bytes(blocking.kernels, blocking.pairs, tile.depth);
  }
}

// Few rows on a packed b: a single pass over its memory, from first to last byte.
void multiply_thin_block(const MatmulProduct& product, const Scratch& scratch, const Block& block) {
  const MatmulBlocking& blocking = product.blocking;
  const Range whole{0, product.k};
  pack_left(product, scratch, block.rows, whole);
  const RightPanels b = right_panels(product, scratch, block.columns, whole);
  const std::int64_t pitch = total_pitch(product, block);
  for (std::int64_t j = 0; j < block.columns.size(); ++j) {
    for (std::int64_t i = 0; i < block.rows.size(); ++i) {
      const std::int64_t row = block.rows.begin + i;
      const TileArgs tile{.a = scratch.a + i * blocking.a_panel_bytes,
                          .a_pitch = blocking.a_pitch,
                          .b = b.first + j * b.distance,
                          .total = scratch.total + i * blocking.tile_rows * pitch +
                                   j * blocking.kernels.tile_columns,
                          .total_pitch = pitch};
      multiply_panel(product, tile_function(blocking, rows_of(product, {row, row + 1}).size()),
                     tile);
    }
  }
  store_rows(product, block, block.rows, scratch.total);
}

void multiply_block(const MatmulProduct& product, const Scratch& scratch, const Block& block) {
  if (product.k == 0) {
    std::memset(scratch.total, 0, static_cast<std::size_t>(product.blocking.total_bytes));
    return store_rows(product, block, block.rows, scratch.total);
  }
  if (product.blocking.thin) return multiply_thin_block(product, scratch, block);
  for (std::int64_t begin = 0; begin < product.k; begin += kFoldDepth)
    multiply_terms(product, scratch, block, {begin, std::min(begin + kFoldDepth, product.k)});
}

}  // namespace

void multiply_share(const MatmulProduct& product, std::int64_t index) {
  const MatmulBlocking& blocking = product.blocking;
  std::byte* own = product.args->workspace.data() + index * blocking.thread_bytes();
  const Scratch scratch{
      .a = own,
      .b = own + blocking.a_bytes,
      .total = reinterpret_cast<float*>(own + blocking.a_bytes + blocking.b_bytes)};
  const Range rows =
      piece({0, blocking.row_tiles}, blocking.row_threads, index / blocking.column_threads);
  const Range columns =
      piece({0, blocking.column_tiles}, blocking.column_threads, index % blocking.column_threads);
  const std::int64_t row_blocks = pieces(rows, blocking.block_rows);
  const std::int64_t column_blocks = pieces(columns, blocking.block_columns);
  for (std::int64_t j = 0; j < column_blocks; ++j) {
    for (std::int64_t i = 0; i < row_blocks; ++i)
      multiply_block(product, scratch,
                     {piece(rows, row_blocks, i), piece(columns, column_blocks, j)});
  }
  if (blocking.dot && blocking.kernels.dot.release != nullptr) blocking.kernels.dot.release();
}

void pack_right(const MatmulKernels& kernels, const MatrixView& b, Range columns, Range depth,
                const RightTarget& target) {
  for (std::int64_t done = 0; done < columns.size(); done += kPanelsPerPack) {
    const std::int64_t first = (columns.begin + done) * kernels.tile_columns;
    target.pack({.source = element_at(b, depth.begin, first),
                 .stride = b.row_stride,
                 .run = b.transposed ? Run::along_depth : Run::along_lines,
                 .lines = b.cols - first,
                 .depth = depth.size(),
                 .panel = target.first + done * target.distance,
                 .pitch = kernels.tile_columns,
                 .panels = std::min(columns.size() - done, kPanelsPerPack),
                 .panel_lines = kernels.tile_columns,
                 .panel_bytes = target.distance});
  }
}

}  // namespace parhelion::exec::cpu
