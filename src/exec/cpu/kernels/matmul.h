#pragma once

#include "exec/cpu/kernels/tier.h"
#include "ir/element.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace parhelion::exec::cpu {

/// A borrowed matrix of f32 or bf16, `rows` x `cols` as the formula sees it.
struct MatrixView {
  const void* data = nullptr;
  ir::Kind kind = ir::Kind::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;  ///< elements between rows in memory
  bool transposed = false;      ///< memory holds cols x rows: (r, c) lies at c * row_stride + r
};

/// A borrowed right operand of k x n that `pack` laid out for one tier.
struct PackedView {
  const void* data = nullptr;  ///< aligned to kMatmulAlignment
  ir::Kind kind = ir::Kind::f32;
  std::int64_t k = 0;
  std::int64_t n = 0;
};

/// What becomes of the elements that the output holds.
enum class OutputMode : std::uint8_t {
  assign,      ///< they are replaced
  accumulate,  ///< the result is added to them (f32 only)
};

/// The output, row-major m x n.
struct MatmulOutput {
  void* data = nullptr;
  ir::Kind kind = ir::Kind::f32;
  std::int64_t row_stride = 0;
  OutputMode mode = OutputMode::assign;
};

/// One term per output column; none where `data` is null.
struct BiasView {
  const void* data = nullptr;
  ir::Kind kind = ir::Kind::f32;
};

/// c[m, n] (+)= sum over k of a[m, k] b[k, n] + bias[n]
///
/// The sum folds blocks of 256 terms: within a block fused multiply-adds from 0 in ascending k,
/// then blocks in ascending order, then the bias, then one rounding to the output's kind or one
/// addition to it. So an element depends on its row of a and its column of b alone: not on m, n,
/// the threads, the tiling, or whether b is packed.
struct MatmulArgs {
  MatrixView a = {};
  std::variant<MatrixView, PackedView> b = {};
  MatmulOutput c = {};
  BiasView bias = {};
  std::span<std::byte> workspace = {};  ///< aligned to kMatmulAlignment
  int num_threads = 1;                  ///< at most; small products use one
  Tier tier = Tier::portable;
};

/// What the workspace depends on.
struct MatmulShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ir::Kind a = ir::Kind::f32;
  ir::Kind b = ir::Kind::f32;
  bool packed = false;
  int num_threads = 1;
  Tier tier = Tier::portable;
};

/// Alignment of workspaces and packed operands.
inline constexpr std::int64_t kMatmulAlignment = 64;

/// Bytes of workspace that `matmul` needs.
///
/// Errors: unsupported for a kind other than f32 and bf16; invalid for a negative size.
std::int64_t matmul_workspace_bytes(const MatmulShape& shape);

/// Runs the product. Allocates nothing.
///
/// Errors: invalid if shapes disagree, the workspace is short, or a bf16 output accumulates.
void matmul(const MatmulArgs& args);

/// Names the bits of `matmul`: equal names, equal bits (`matmul.fold256.dot_bf16`: of one processor
/// model).
std::string_view matmul_numerics(Tier tier, ir::Kind a, ir::Kind b);

/// Bytes of a packed right operand of k x n.
std::int64_t packed_bytes(Tier tier, ir::Kind kind, std::int64_t k, std::int64_t n);

/// Lays b (k x n) out for `tier` into `packed`, keeping its kind.
///
/// Errors: invalid if `packed` is not aligned or shorter than packed_bytes.
void pack(const MatrixView& b, Tier tier, int num_threads, std::span<std::byte> packed);

}  // namespace parhelion::exec::cpu
