#include "ir/checks.h"

namespace parhelion::ir {

void check_arity(std::string_view family, Types inputs, std::size_t count) {
  ensure(inputs.size() == count, ErrorKind::invalid, "{} C0: has {} inputs, expected {}", family,
         inputs.size(), count);
}

void check_rank(std::string_view label, std::string_view operand, const TensorType& type,
                std::size_t rank) {
  ensure(type.rank() == rank, ErrorKind::invalid, "{}: rank({}) is {}, expected {}", label, operand,
         type.rank(), rank);
}

void check_kind(std::string_view label, std::string_view operand, const TensorType& type,
                Kind kind) {
  ensure(type.kind() == kind, ErrorKind::invalid, "{}: dtype({}) is {}, expected {}", label,
         operand, name(type.kind()), name(kind));
}

void check_activation(std::string_view label, std::string_view operand, const TensorType& type) {
  ensure(type.kind() == Kind::f32 || type.kind() == Kind::bf16, ErrorKind::invalid,
         "{}: dtype({}) is {}, expected f32 or bf16", label, operand, name(type.kind()));
}

void check_shape(std::string_view label, std::string_view operand, const TensorType& type,
                 const Shape& shape) {
  ensure(type.shape == shape, ErrorKind::invalid, "{}: shape({}) is {}, expected {}", label,
         operand, to_string(type.shape), to_string(shape));
}

void check_type(std::string_view label, std::string_view operand, const TensorType& type,
                const TensorType& expected) {
  ensure(type == expected, ErrorKind::invalid, "{}: type({}) is {}, expected {}", label, operand,
         to_string(type), to_string(expected));
}

std::vector<Factor> elementwise_factors(Types inputs, std::size_t output_count) {
  std::vector<Factor> result;
  for (std::size_t dim = 0; dim < inputs[0].rank(); ++dim) {
    const auto at = static_cast<std::int8_t>(dim);
    Factor factor;
    for (const TensorType& input : inputs) {
      factor.input_dim.push_back(input.rank() == 0 ? std::int8_t{-1} : at);
    }
    factor.output_dim.assign(output_count, at);
    result.push_back(std::move(factor));
  }
  return result;
}

Cost streaming_cost(Types inputs, Types outputs, double flops_per_element) {
  Cost cost;
  for (const TensorType& type : inputs) cost.bytes += static_cast<double>(byte_count(type));
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(byte_count(type));
  cost.flops = flops_per_element * static_cast<double>(element_count(outputs[0]));
  return cost;
}

}  // namespace parhelion::ir
