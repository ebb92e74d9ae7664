#include "exec/cpu/kernels/matmul.h"

#include "base/error.h"
#include "exec/cpu/kernels/matmul_blocking.h"

#include <algorithm>
#include <cstring>

namespace parhelion::exec::cpu {
namespace {

struct Product {
  const MatmulArgs* args = nullptr;
  MatmulBlocking blocking;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

// The part of a workspace that one thread owns.
struct Scratch {
  std::byte* a = nullptr;
  std::byte* b = nullptr;
  float* total = nullptr;
  std::int64_t total_pitch = 0;
};

// The tiles of one block, as numbers of tiles.
struct Block {
  Range rows;
  Range columns;
};

bool is_matmul_kind(ir::Kind kind) { return kind == ir::Kind::f32 || kind == ir::Kind::bf16; }

void check_kind(ir::Kind kind, const char* what) {
  ensure(is_matmul_kind(kind), ErrorKind::unsupported, "matmul: {} is {}, expected f32 or bf16",
         what, ir::name(kind));
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % std::uintptr_t{kMatmulAlignment} == 0;
}

const std::byte* element_at(const MatrixView& view, std::int64_t row, std::int64_t col) {
  const std::int64_t index =
      view.transposed ? col * view.row_stride + row : row * view.row_stride + col;
  return static_cast<const std::byte*>(view.data) + index * ir::element(view.kind).block_bytes;
}

// Lines of the left operand are its rows, so a plain view runs along the depth.
PackArgs left_source(const MatrixView& a, Range rows, Range depth) {
  return {.source = element_at(a, rows.begin, depth.begin),
          .stride = a.row_stride,
          .run = a.transposed ? Run::along_lines : Run::along_depth,
          .lines = rows.size(),
          .depth = depth.size()};
}

// Lines of the right operand are its columns.
PackArgs right_source(const MatrixView& b, Range columns, Range depth) {
  return {.source = element_at(b, depth.begin, columns.begin),
          .stride = b.row_stride,
          .run = b.transposed ? Run::along_depth : Run::along_lines,
          .lines = columns.size(),
          .depth = depth.size()};
}

Range tile_rows(const Product& product, std::int64_t tile) {
  return piece({0, product.m}, product.blocking.row_tiles, tile);
}

Range tile_columns(std::int64_t width, std::int64_t n, std::int64_t tile) {
  return {tile * width, std::min((tile + 1) * width, n)};
}

// Panel rows of a hold one line or whole groups of four.
std::int64_t left_pitch(std::int64_t rows) { return rows == 1 ? 1 : (rows + 3) / 4 * 4; }

PackFunction left_pack(const Product& product) {
  const MatmulKernels& kernels = product.blocking.kernels;
  if (product.args->a.kind == ir::Kind::f32) return kernels.pack_float;
  return product.blocking.dot ? kernels.pack_pairs : kernels.pack_wide;
}

TileFunction tile_function(const Product& product, std::int64_t rows) {
  const MatmulKernels& kernels = product.blocking.kernels;
  if (product.blocking.dot) return kernels.dot_tiles[rows - 1];
  return product.blocking.pairs ? kernels.wide_tiles[rows - 1] : kernels.float_tiles[rows - 1];
}

// The panels of b for the terms of `depth`: the first one and the distance between them.
struct RightPanels {
  const std::byte* first = nullptr;
  std::int64_t distance = 0;
};

RightPanels right_panels(const Product& product, const Scratch& scratch, Range columns,
                         Range depth) {
  const MatmulBlocking& blocking = product.blocking;
  const MatmulKernels& kernels = blocking.kernels;
  if (const auto* packed = std::get_if<PackedView>(&product.args->b)) {
    const std::int64_t distance = panel_bytes(kernels, blocking.pairs, product.k);
    return {static_cast<const std::byte*>(packed->data) + columns.begin * distance +
                panel_bytes(kernels, blocking.pairs, depth.begin),
            distance};
  }
  const std::int64_t distance = panel_bytes(kernels, blocking.pairs, depth.size());
  for (std::int64_t tile = columns.begin; tile < columns.end; ++tile) {
    PackArgs source = right_source(std::get<MatrixView>(product.args->b),
                                   tile_columns(kernels.tile_columns, product.n, tile), depth);
    source.panel = scratch.b + (tile - columns.begin) * distance;
    source.pitch = kernels.tile_columns;
    (blocking.pairs ? kernels.pack_pairs : kernels.pack_float)(source);
  }
  return {scratch.b, distance};
}

void multiply_tile_row(const Product& product, const Scratch& scratch, const Block& block,
                       std::int64_t row_tile, const RightPanels& b, Range depth) {
  const Range rows = tile_rows(product, row_tile);
  PackArgs a = left_source(product.args->a, rows, depth);
  a.panel = scratch.a;
  a.pitch = left_pitch(rows.size());
  left_pack(product)(a);
  const std::int64_t top = tile_rows(product, block.rows.begin).begin;
  const TileFunction multiply = tile_function(product, rows.size());
  TileArgs tile{.a = scratch.a,
                .a_pitch = a.pitch,
                .b = b.first,
                .depth = depth.size(),
                .total = scratch.total + (rows.begin - top) * scratch.total_pitch,
                .total_pitch = scratch.total_pitch,
                .first = depth.begin == 0};
  for (std::int64_t j = 0; j < block.columns.size(); ++j) {
    multiply(tile);
    tile.b = static_cast<const std::byte*>(tile.b) + b.distance;
    tile.total += product.blocking.kernels.tile_columns;
  }
}

void store_block(const Product& product, const Scratch& scratch, const Block& block) {
  const MatmulArgs& args = *product.args;
  const MatmulKernels& kernels = product.blocking.kernels;
  const Range rows{tile_rows(product, block.rows.begin).begin,
                   tile_rows(product, block.rows.end - 1).end};
  const std::int64_t left = block.columns.begin * kernels.tile_columns;
  const std::int64_t right = std::min(block.columns.end * kernels.tile_columns, product.n);
  const std::int64_t output_bytes = ir::element(args.c.kind).block_bytes;
  const auto* bias = static_cast<const std::byte*>(args.bias.data);
  StoreArgs store{.bias_kind = args.bias.kind,
                  .output_kind = args.c.kind,
                  .accumulate = args.c.mode == OutputMode::accumulate,
                  .count = right - left};
  if (bias != nullptr) store.bias = bias + left * ir::element(args.bias.kind).block_bytes;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    store.total = scratch.total + (row - rows.begin) * scratch.total_pitch;
    store.output =
        static_cast<std::byte*>(args.c.data) + (row * args.c.row_stride + left) * output_bytes;
    kernels.store(store);
  }
}

void multiply_block(const Product& product, Scratch scratch, const Block& block) {
  const MatmulBlocking& blocking = product.blocking;
  scratch.total_pitch = block.columns.size() * blocking.kernels.tile_columns;
  if (product.k == 0) std::memset(scratch.total, 0, static_cast<std::size_t>(blocking.total_bytes));
  for (std::int64_t begin = 0; begin < product.k; begin += kFoldDepth) {
    const Range depth{begin, std::min(begin + kFoldDepth, product.k)};
    const RightPanels b = right_panels(product, scratch, block.columns, depth);
    for (std::int64_t tile = block.rows.begin; tile < block.rows.end; ++tile)
      multiply_tile_row(product, scratch, block, tile, b, depth);
  }
  store_block(product, scratch, block);
}

// What the `index`-th thread of the grid computes.
void multiply_share(const Product& product, std::int64_t index) {
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
}

MatmulShape shape_of(const MatmulArgs& args) {
  MatmulShape shape{.m = args.a.rows,
                    .k = args.a.cols,
                    .a = args.a.kind,
                    .num_threads = args.num_threads,
                    .tier = args.tier};
  std::int64_t b_rows = 0;
  if (const auto* packed = std::get_if<PackedView>(&args.b)) {
    shape.packed = true;
    shape.b = packed->kind;
    shape.n = packed->n;
    b_rows = packed->k;
  } else {
    const auto& view = std::get<MatrixView>(args.b);
    shape.b = view.kind;
    shape.n = view.cols;
    b_rows = view.rows;
  }
  ensure(b_rows == shape.k, ErrorKind::invalid, "matmul: b has {} rows, expected {}", b_rows,
         shape.k);
  return shape;
}

void check_shape(const MatmulShape& shape) {
  check_kind(shape.a, "a");
  check_kind(shape.b, "b");
  ensure(shape.m >= 0 && shape.n >= 0 && shape.k >= 0, ErrorKind::invalid,
         "matmul: m, n, k are {}, {}, {}, expected none negative", shape.m, shape.n, shape.k);
}

void check_args(const MatmulArgs& args, std::int64_t workspace_bytes) {
  check_kind(args.c.kind, "c");
  check_kind(args.bias.kind, "bias");
  ensure(args.c.kind == ir::Kind::f32 || args.c.mode == OutputMode::assign, ErrorKind::invalid,
         "matmul: a bf16 output accumulates, expected f32");
  ensure(std::ssize(args.workspace) >= workspace_bytes, ErrorKind::invalid,
         "matmul: workspace has {} bytes, expected {}", args.workspace.size(), workspace_bytes);
  ensure(is_aligned(args.workspace.data()), ErrorKind::invalid,
         "matmul: workspace is not aligned to {} bytes", kMatmulAlignment);
  const auto* packed = std::get_if<PackedView>(&args.b);
  ensure(packed == nullptr || is_aligned(packed->data), ErrorKind::invalid,
         "matmul: packed b is not aligned to {} bytes", kMatmulAlignment);
}

}  // namespace

std::int64_t matmul_workspace_bytes(const MatmulShape& shape) {
  check_shape(shape);
  const MatmulBlocking blocking = matmul_blocking(shape);
  return blocking.threads() * blocking.thread_bytes();
}

void matmul(const MatmulArgs& args) {
  const MatmulShape shape = shape_of(args);
  check_shape(shape);
  const Product product{
      .args = &args, .blocking = matmul_blocking(shape), .m = shape.m, .n = shape.n, .k = shape.k};
  const std::int64_t threads = product.blocking.threads();
  check_args(args, threads * product.blocking.thread_bytes());
  if (shape.m == 0 || shape.n == 0) return;
  if (threads == 1) return multiply_share(product, 0);
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(threads))
  for (std::int64_t index = 0; index < threads; ++index) multiply_share(product, index);
}

std::string_view matmul_numerics(Tier tier, ir::Kind a, ir::Kind b) {
  const MatmulKernels kernels = matmul_kernels(tier);
  if (kernels.dot_tiles != nullptr && a == ir::Kind::bf16 && b == ir::Kind::bf16)
    return "matmul.fold256.dot_bf16";
  return kernels.fused ? "matmul.fold256.fma" : "matmul.fold256.mul_add";
}

std::int64_t packed_bytes(Tier tier, ir::Kind kind, std::int64_t k, std::int64_t n) {
  check_shape({.n = n, .k = k, .b = kind});
  const MatmulKernels kernels = matmul_kernels(tier);
  return pieces({0, n}, kernels.tile_columns) * panel_bytes(kernels, kind == ir::Kind::bf16, k);
}

void pack(const MatrixView& b, Tier tier, int num_threads, std::span<std::byte> packed) {
  const std::int64_t bytes = packed_bytes(tier, b.kind, b.rows, b.cols);
  ensure(std::ssize(packed) >= bytes && is_aligned(packed.data()), ErrorKind::invalid,
         "matmul: packed buffer has {} bytes at {}, expected {} bytes aligned to {}", packed.size(),
         static_cast<const void*>(packed.data()), bytes, kMatmulAlignment);
  const MatmulKernels kernels = matmul_kernels(tier);
  const bool pairs = b.kind == ir::Kind::bf16;
  const std::int64_t distance = panel_bytes(kernels, pairs, b.rows);
  const std::int64_t panels = pieces({0, b.cols}, kernels.tile_columns);
#pragma omp parallel for schedule(static) num_threads(std::max(num_threads, 1))
  for (std::int64_t tile = 0; tile < panels; ++tile) {
    PackArgs source =
        right_source(b, tile_columns(kernels.tile_columns, b.cols, tile), {0, b.rows});
    source.panel = packed.data() + tile * distance;
    source.pitch = kernels.tile_columns;
    (pairs ? kernels.pack_pairs : kernels.pack_float)(source);
  }
}

}  // namespace parhelion::exec::cpu
