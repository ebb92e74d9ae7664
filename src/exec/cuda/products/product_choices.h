#pragma once

#include "exec/cuda/candidate.h"
#include "exec/cuda/products/lt_matmul.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::exec::cuda {

/// How cuBLASLt computes a product.
struct ProductChoice {
  std::string numerics;  ///< same text, same bits of a row
  LtAlgorithm algorithm;
};

/// The algorithms of products, found by trying them on the device, and kept from then on, in the
/// plan cache too.
///
/// But under fast numerics no algorithm splits k, and all that are chosen for one weight, whatever
/// the number of rows, gave equal bits to rows at every place; the fastest of them runs. The same
/// for products whose a is transposed or which accumulate, but for one number of rows alone.
class ProductChoices {
 public:
  /// Of operands of one kind; none if the library has no fit algorithm.
  std::optional<ProductChoice> choose(const ProductShape& shape, const Device& device);

 private:
  /// Algorithms of equal bits, with the text that names the bits.
  struct Agreeing {
    std::string numerics;
    std::vector<LtAlgorithm> algorithms;
  };

  Agreeing find_agreeing(const ProductShape& shape, const Device& device);
  Agreeing find_fastest(const ProductShape& shape, const Device& device);
  /// From memory, else from the plan cache, else what `find` finds.
  template <class Find>
  const Agreeing& recall(const std::string& key, const Device& device, const Find& find);

  std::map<std::string, Agreeing> found_;
};

}  // namespace parhelion::exec::cuda
