#include "support/conformance/data.h"

#include "base/random.h"

#include <algorithm>
#include <cmath>

namespace parhelion::test {

ir::Shape shape_of(const std::vector<std::int64_t>& dims) {
  return ir::Shape(dims.begin(), dims.end());
}

Wide normals(ir::Kind kind, const std::vector<std::int64_t>& dims, std::uint64_t seed,
             double scale) {
  Wide result = zeros(ir::TensorType(kind, shape_of(dims)));
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const auto number = static_cast<double>(normal(seed, 1, static_cast<std::uint64_t>(i)));
    result[i] = rounded(kind, scale * number);
  }
  return result;
}

double unit_scale(std::int64_t terms) {
  return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(terms, 1)));
}

Wide filled(ir::Kind kind, const std::vector<std::int64_t>& dims, double value) {
  Wide result = zeros(ir::TensorType(kind, shape_of(dims)));
  std::ranges::fill(result.values, rounded(kind, value));
  return result;
}

Wide listed(ir::Kind kind, const std::vector<double>& values) {
  Wide result{ir::TensorType(kind, {static_cast<std::int64_t>(values.size())}), values};
  return stored_as_is(result);
}

Wide indices(std::int64_t count, std::int64_t low, std::int64_t high, std::uint64_t seed) {
  Wide result = zeros(ir::TensorType(ir::Kind::i32, {count}));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto share = static_cast<double>(uniform(seed, 2, static_cast<std::uint64_t>(i)));
    result[i] = static_cast<double>(
        low + static_cast<std::int64_t>(share * static_cast<double>(high - low)));
  }
  return result;
}

Wide prefix_sums(const std::vector<std::int64_t>& lengths) {
  Wide result =
      zeros(ir::TensorType(ir::Kind::i32, {static_cast<std::int64_t>(lengths.size()) + 1}));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    result.values[i + 1] = result.values[i] + static_cast<double>(lengths[i]);
  }
  return result;
}

Wide stored_as_is(Wide tensor) {
  for (double& each : tensor.values) each = rounded(tensor.kind(), each);
  return tensor;
}

}  // namespace parhelion::test
