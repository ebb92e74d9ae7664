#pragma once

#include "exec/cuda/candidate.h"
#include "exec/cuda/products/lt_matmul.h"
#include "exec/cuda/products/product_choices.h"

#include <memory>
#include <optional>

namespace parhelion::exec::cuda {

/// Which kernel multiplies.
enum class Multiplier : std::uint8_t {
  any,    ///< cuBLASLt if it has an algorithm
  plain,  ///< our own, which takes everything
};

/// Addresses of a product.
struct ProductOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* addend = nullptr;  ///< [m, n] of an accumulating product of one kind; null: c
  const void* bias = nullptr;    ///< [n]; null: none
  ir::Kind bias_kind = ir::Kind::f32;
  std::byte* workspace = nullptr;
  cudaStream_t stream = nullptr;
};

/// Whether a product adds a bias, before it rounds.
enum class Bias : std::uint8_t { none, added };

/// A planned product of operands of any kinds. Operands of two kinds are both widened to f32.
class Product {
 public:
  Product(const ProductShape& shape, const Device& device, Bias bias = Bias::none,
          Multiplier multiplier = Multiplier::any);

  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  void launch(const ProductOperands& at) const;
  /// Same text, same bits of a row.
  const std::string& numerics() const { return numerics_; }
  bool is_plain() const { return lt_ == nullptr; }

 private:
  void launch_lt(const ProductOperands& at) const;

  ProductShape shape_;  // as asked
  std::shared_ptr<const LtMatmul> lt_;
  LtAlgorithm algorithm_;
  // Parts of the workspace: operands made f32, the f32 result before it is rounded, the library's.
  std::int64_t a_bytes_ = 0, b_bytes_ = 0, wide_bytes_ = 0, workspace_bytes_ = 0;
  std::string numerics_;
};

}  // namespace parhelion::exec::cuda
