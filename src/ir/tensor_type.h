#pragma once

#include "ir/dim.h"
#include "ir/element.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace parhelion::ir {

/// Element format and shape of a dense, row-major tensor.
struct TensorType {
  Element element;
  Shape shape;

  TensorType() = default;
  TensorType(Kind kind, Shape of) : element(ir::element(kind)), shape(std::move(of)) {}

  Kind kind() const { return element.kind; }
  std::size_t rank() const { return shape.size(); }
  bool operator==(const TensorType&) const = default;
};

/// Types of an op's operands, in order.
using Types = std::span<const TensorType>;

/// Elements of a type whose dims are numbers.
std::int64_t element_count(const TensorType& type);

/// Bytes of a type whose dims are numbers. Errors: invalid if blocks do not divide the last dim
/// or the bytes do not fit in 64 bits.
std::int64_t byte_count(const TensorType& type);

/// Such as `bf16[tokens, 576]`.
std::string to_string(const TensorType& type);

}  // namespace parhelion::ir
