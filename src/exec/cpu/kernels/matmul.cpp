#include "exec/cpu/kernels/matmul.h"

#include "base/error.h"
#include "exec/cpu/kernels/matmul_blocking.h"
#include "exec/cpu/kernels/matmul_product.h"

#include <algorithm>

namespace parhelion::exec::cpu {
namespace {

bool is_matmul_kind(ir::Kind kind) { return kind == ir::Kind::f32 || kind == ir::Kind::bf16; }

void check_kind(ir::Kind kind, const char* what) {
  ensure(is_matmul_kind(kind), ErrorKind::unsupported, "matmul: {} is {}, expected f32 or bf16",
         what, ir::name(kind));
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % std::uintptr_t{kMatmulAlignment} == 0;
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
  const MatmulProduct product{
      .args = &args, .blocking = matmul_blocking(shape), .m = shape.m, .n = shape.n, .k = shape.k};
  const auto threads = static_cast<int>(product.blocking.threads());
  check_args(args, threads * product.blocking.thread_bytes());
  if (shape.m == 0 || shape.n == 0) return;
  if (threads == 1) return multiply_share(product, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int index = 0; index < threads; ++index) multiply_share(product, index);
}

std::string_view matmul_numerics(Tier tier, ir::Kind a, ir::Kind b) {
  const MatmulKernels kernels = matmul_kernels(tier);
  if (kernels.dot.tiles != nullptr && a == ir::Kind::bf16 && b == ir::Kind::bf16)
    return tier == Tier::amx_bf16 ? "matmul.fold32.amx_bf16" : "matmul.fold256.dot_bf16";
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
  for (std::int64_t tile = 0; tile < panels; ++tile)
    pack_right(kernels, b, {tile, tile + 1}, {0, b.rows},
               {pairs ? kernels.pack_pairs : kernels.pack_float, packed.data() + tile * distance,
                distance});
}

}  // namespace parhelion::exec::cpu
