#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// A tensor of one value.
///
/// Output   (O1) kind[shape]
/// Checks   (C1) kind: f32 or bf16
struct Fill {
  double value = 0.0;
  Kind kind = Kind::f32;
  Shape shape = {};
  bool operator==(const Fill&) const = default;
};
Traits traits(const Fill& op);
std::vector<Factor> factors(const Fill& op, Types inputs);
std::vector<TensorType> infer(const Fill& op, Types inputs);
void gradient(const Fill& op, GradientContext& context);
Cost cost(const Fill& op, Types inputs, Types outputs);
constexpr auto fields(const Fill*) {
  return std::tuple(field("value", &Fill::value), field("kind", &Fill::kind),
                    field("shape", &Fill::shape));
}

/// The same elements in another shape; folded into operands before planning.
///
/// Inputs   (I1) x
/// Output   (O1) dtype of x, `shape`
/// Checks   (C1) same number of elements, symbolic dims included
struct Reshape {
  Shape shape = {};
  bool operator==(const Reshape&) const = default;
};
Traits traits(const Reshape& op);
std::vector<Factor> factors(const Reshape& op, Types inputs);
std::vector<TensorType> infer(const Reshape& op, Types inputs);
void gradient(const Reshape& op, GradientContext& context);
Cost cost(const Reshape& op, Types inputs, Types outputs);
constexpr auto fields(const Reshape*) { return std::tuple(field("shape", &Reshape::shape)); }

}  // namespace parhelion::ir
