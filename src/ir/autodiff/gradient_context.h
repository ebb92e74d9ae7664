#pragma once

#include "ir/builder.h"

#include <vector>

namespace parhelion::ir {

/// What a gradient rule sees of the op that it differentiates, and where it puts its results.
///
/// A rule emits separate ops per operand where they are separate work, and knows nothing of phases
/// or schedules.
class GradientContext {
 public:
  virtual ~GradientContext() = default;

  virtual ValueId input(std::size_t index) const = 0;
  virtual ValueId output(std::size_t index) const = 0;
  /// The gradient of an output, of its type; none if the loss does not depend on it.
  virtual ValueId output_gradient(std::size_t index) const = 0;

  /// True if the gradient of an input is needed.
  virtual bool wants(std::size_t index) const = 0;
  /// Adds a gradient of the input's type.
  virtual void give(std::size_t index, ValueId gradient) = 0;

  /// The f32 sum that the gradient of an input is accumulated into, for rules that add in place:
  /// read it with `chain`, return its next version with `advance`.
  virtual ValueId chain(std::size_t index) = 0;
  virtual void advance(std::size_t index, ValueId next) = 0;

  virtual std::vector<ValueId> add(Op op, const std::vector<ValueId>& inputs) = 0;
  ValueId one(Op op, const std::vector<ValueId>& inputs) {
    return add(std::move(op), inputs).front();
  }
  virtual const TensorType& type(ValueId value) const = 0;
};

}  // namespace parhelion::ir
