#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// y = factor x, in f32, rounded once.
///
/// Inputs   (I1) x: [...] f32 | bf16
/// Output   (O1) type of x
/// Checks   (C1) x: f32 or bf16
struct Scale {
  double factor = 1.0;
  bool operator==(const Scale&) const = default;
};
Traits traits(const Scale& op);
std::vector<Factor> factors(const Scale& op, Types inputs);
std::vector<TensorType> infer(const Scale& op, Types inputs);
void gradient(const Scale& op, GradientContext& context);
Cost cost(const Scale& op, Types inputs, Types outputs);
constexpr auto fields(const Scale*) { return std::tuple(field("factor", &Scale::factor)); }

/// y[e] = x[e] / (1 - p) where noise16(seed, tag, e) >= round(65536 p), else 0; e counts elements
/// row-major. A clone draws the same, and the gradient drops the same elements.
///
/// Inputs   (I1) x: [...] f32 | bf16   (I2) seed: u64[]
/// Output   (O1) type of x
/// Checks   (C1) x: f32 or bf16   (C2) seed: u64[]   (C3) 0 <= probability < 1
/// Source   Srivastava et al. 2014
struct Dropout {
  double probability = 0.0;
  std::int64_t tag = 0;
  bool operator==(const Dropout&) const = default;
};
Traits traits(const Dropout& op);
std::vector<Factor> factors(const Dropout& op, Types inputs);
std::vector<TensorType> infer(const Dropout& op, Types inputs);
void gradient(const Dropout& op, GradientContext& context);
Cost cost(const Dropout& op, Types inputs, Types outputs);
constexpr auto fields(const Dropout*) {
  return std::tuple(field("probability", &Dropout::probability), field("tag", &Dropout::tag));
}

}  // namespace parhelion::ir
