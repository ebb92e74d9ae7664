#include "ir/tensor_type.h"

#include "base/error.h"

namespace parhelion::ir {

std::int64_t element_count(const TensorType& type) { return number(element_count(type.shape)); }

std::int64_t byte_count(const TensorType& type) {
  const std::int64_t last = type.shape.empty() ? 1 : number(type.shape.back());
  ensure(last % type.element.block_elements == 0, ErrorKind::invalid,
         "type {}: last dim is no multiple of the block of {} elements", to_string(type),
         type.element.block_elements);
  const std::int64_t blocks = element_count(type) / type.element.block_elements;
  std::int64_t bytes = 0;
  ensure(!__builtin_mul_overflow(blocks, std::int64_t{type.element.block_bytes}, &bytes),
         ErrorKind::invalid, "type {}: its bytes do not fit in 64 bits", to_string(type));
  return bytes;
}

std::string to_string(const TensorType& type) {
  return std::string(name(type.kind())) + to_string(type.shape);
}

}  // namespace parhelion::ir
