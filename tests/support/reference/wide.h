#pragma once

#include "ir/tensor_type.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace parhelion::test {

/// A tensor as doubles, row-major; all dims are numbers. Integers are exact up to 2^53.
struct Wide {
  ir::TensorType type;
  std::vector<double> values;

  double& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  std::int64_t dim(std::size_t index) const { return type.shape[index].base; }
  ir::Kind kind() const { return type.kind(); }
};

/// Tensors by buffer name.
using NamedWide = std::map<std::string, Wide, std::less<>>;

Wide zeros(const ir::TensorType& type);

/// The number of `kind` nearest to `value`.
double rounded(ir::Kind kind, double value);

/// Every value rounded to bf16 where that is the type; f32 references stay in double.
double rounded_as_named(ir::Kind kind, double value);

/// Stored bytes to numbers and back; `to_bytes` rounds.
Wide from_bytes(const ir::TensorType& type, std::span<const std::byte> bytes);
void to_bytes(const Wide& tensor, std::span<std::byte> bytes);

}  // namespace parhelion::test
