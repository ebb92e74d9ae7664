#pragma once

#include "exec/executor.h"
#include "ir/program.h"

#include <vector>

namespace parhelion::exec {

/// One op with its types and with what is known of its operands before it runs.
struct OpView {
  const ir::OpNode& node;
  std::vector<ir::TensorType> inputs;
  std::vector<ir::TensorType> outputs;
  std::vector<bool> frozen;  ///< per input: a parameter that does not change between runs

  std::int64_t input_dim(std::size_t input, std::size_t dim) const {
    return ir::number(inputs[input].shape[dim]);
  }
  std::int64_t output_dim(std::size_t output, std::size_t dim) const {
    return ir::number(outputs[output].shape[dim]);
  }
};

/// An op of an instance. A parameter that an operand reads as it lies is frozen if `weights` are or
/// if it is not trained.
OpView view_of(const ir::Program& instance, const ir::OpNode& node, Weights weights);

/// Elements of a type, and rows of a matrix whose columns are its last dim.
std::int64_t count_of(const ir::TensorType& type);
std::int64_t rows_of(const ir::TensorType& type);
std::int64_t columns_of(const ir::TensorType& type);

}  // namespace parhelion::exec
