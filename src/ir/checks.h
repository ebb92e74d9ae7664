#pragma once

#include "base/error.h"
#include "ir/answers.h"

namespace parhelion::ir {

/// The checks that families share. `label` is the family and the check's label, such as "rms_norm
/// C2".
void check_arity(std::string_view family, Types inputs, std::size_t count);
void check_rank(std::string_view label, std::string_view operand, const TensorType& type,
                std::size_t rank);
void check_kind(std::string_view label, std::string_view operand, const TensorType& type,
                Kind kind);
/// f32 or bf16.
void check_activation(std::string_view label, std::string_view operand, const TensorType& type);
void check_shape(std::string_view label, std::string_view operand, const TensorType& type,
                 const Shape& shape);
void check_type(std::string_view label, std::string_view operand, const TensorType& type,
                const TensorType& expected);

/// One parallel factor for each dim of operands that share one shape; scalars take no part.
std::vector<Factor> elementwise_factors(Types inputs, std::size_t output_count);

/// Flops per output element times elements, bytes of every operand.
Cost streaming_cost(Types inputs, Types outputs, double flops_per_element);

}  // namespace parhelion::ir
