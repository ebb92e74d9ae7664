#pragma once

#include "exec/cuda/device_memory.h"
#include "exec/cuda/handles.h"
#include "exec/cuda/products/lt_matmul.h"

namespace parhelion::exec::cuda {

/// Operands of random numbers on which algorithms are tried while planning. Row r of the product is
/// its row r modulo `row_period`.
class TrialProducts {
 public:
  /// For products of up to `largest.m` rows, else of its shape.
  TrialProducts(const ProductShape& largest, std::int64_t row_period);

  /// Keeps the first `row_period` rows of this product, to be compared with.
  void set_expected(const LtMatmul& product, const LtAlgorithm& algorithm);
  /// True if every row has the bits kept.
  bool agrees(const LtMatmul& product, const LtAlgorithm& algorithm);
  /// Time of one launch whose operand b is not in the caches.
  double microseconds(const LtMatmul& product, const LtAlgorithm& algorithm);

 private:
  void run(const LtMatmul& product, const LtAlgorithm& algorithm, std::byte* c);
  double time(const LtMatmul& product, const LtAlgorithm& algorithm, int launches);

  ProductShape shape_;
  std::int64_t row_period_;
  std::int64_t b_bytes_;
  std::int64_t b_copies_;
  std::int64_t next_copy_ = 0;
  Stream stream_;
  Event begin_, end_;
  DeviceMemory a_, b_, c_, expected_, workspace_, differences_;
};

}  // namespace parhelion::exec::cuda
