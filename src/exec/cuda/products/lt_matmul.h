#pragma once

#include "ir/element.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cublasLt.h>
#include <string>
#include <vector>

namespace parhelion::exec::cuda {

/// c[m, n] = [addend +] op_a(a) op_b(b), row-major, op = transpose where asked, sums in f32.
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;  ///< a is stored [k, m], b is stored [n, k]
  ir::Kind a = ir::Kind::f32, b = ir::Kind::f32, out = ir::Kind::f32;
  bool accumulate = false;  ///< adds an addend, of kind `out`, before it rounds
};

/// The shape in words, without the number of rows where `rows` is none.
enum class WithRows : std::uint8_t { yes, no };
std::string in_words(const ProductShape& shape, WithRows rows);

/// An algorithm as the library stores it, and the workspace that it wants for one shape.
struct LtAlgorithm {
  std::array<std::uint64_t, 8> bytes = {};
  std::int64_t workspace_bytes = 0;
};

/// Kernel, tile, stages, cluster and split of an algorithm in words.
std::string in_words(const LtAlgorithm& algorithm);

/// Whether k may be cut into parts which are added in a second pass.
enum class Split : std::uint8_t { allowed, never };

enum class F32Products : std::uint8_t { whole, tf32 };

/// A product as cuBLASLt describes it: both operands of one kind; out bf16 only if they are.
class LtMatmul {
 public:
  /// Most bytes of workspace that an algorithm may want.
  static constexpr std::int64_t kMostWorkspace = std::int64_t{32} << 20;

  LtMatmul(cublasLtHandle_t handle, const ProductShape& shape, F32Products f32_products);
  ~LtMatmul();
  LtMatmul(const LtMatmul&) = delete;
  LtMatmul& operator=(const LtMatmul&) = delete;

  /// Up to `count` algorithms, best first by the library's own estimate; maybe none.
  std::vector<LtAlgorithm> ranked(int count, Split split) const;
  /// Sets the workspace that `algorithm` wants for this shape; false if it does not take it.
  bool accept(LtAlgorithm& algorithm) const;
  /// Enqueues it. `addend` is what an accumulating product adds to; it may be c. `workspace` has
  /// the algorithm's bytes.
  void run(const LtAlgorithm& algorithm, const void* a, const void* b, const void* addend, void* c,
           void* workspace, cudaStream_t stream) const;
  const ProductShape& shape() const { return shape_; }

 private:
  cublasLtHandle_t handle_;
  ProductShape shape_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  // cuBLASLt is column-major: it computes c^T = op_b(b)^T op_a(a)^T, so b is its first operand.
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, out_ = nullptr;
};

}  // namespace parhelion::exec::cuda
