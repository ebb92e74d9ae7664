#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// h = round(silu(gate)) * up, silu(x) = x / (1 + exp(-x)), round = to the type of gate.
///
/// Inputs   (I1) gate: [...] f32 | bf16   (I2) up: type of gate
/// Output   (O1) type of gate
/// Checks   (C1) gate: f32 or bf16   (C2) type(up) = type(gate)
/// Source   Shazeer 2020, arXiv:2002.05202
struct Swiglu {
  bool operator==(const Swiglu&) const = default;
};
Traits traits(const Swiglu& op);
std::vector<Factor> factors(const Swiglu& op, Types inputs);
std::vector<TensorType> infer(const Swiglu& op, Types inputs);
void gradient(const Swiglu& op, GradientContext& context);
Cost cost(const Swiglu& op, Types inputs, Types outputs);
constexpr auto fields(const Swiglu*) { return std::tuple(); }

/// The gradient of Swiglu.
///
/// Inputs   (I1) gate   (I2) up   (I3) dh, all of one type
/// Outputs  (O1) dgate   (O2) dup, of the type of gate
/// Checks   (C1) gate: f32 or bf16   (C2) types are equal
struct SwigluGrad {
  bool operator==(const SwigluGrad&) const = default;
};
Traits traits(const SwigluGrad& op);
std::vector<Factor> factors(const SwigluGrad& op, Types inputs);
std::vector<TensorType> infer(const SwigluGrad& op, Types inputs);
void gradient(const SwigluGrad& op, GradientContext& context);
Cost cost(const SwigluGrad& op, Types inputs, Types outputs);
constexpr auto fields(const SwigluGrad*) { return std::tuple(); }

/// h = Swiglu(x gate^T, x up^T), the products rounded to the type of x: with the bits of the
/// composition.
///
/// Inputs   (I1) x: [m, k]   (I2) gate: [n, k]   (I3) up: type of gate
/// Output   (O1) h: [m, n], dtype of x
/// Checks   (C1) ranks are 2   (C2) contracted dims are equal   (C3) f32 or bf16
///          (C4) type(up) = type(gate)
struct GateUp {
  bool operator==(const GateUp&) const = default;
};
Traits traits(const GateUp& op);
std::vector<Factor> factors(const GateUp& op, Types inputs);
std::vector<TensorType> infer(const GateUp& op, Types inputs);
void gradient(const GateUp& op, GradientContext& context);
Cost cost(const GateUp& op, Types inputs, Types outputs);
constexpr auto fields(const GateUp*) { return std::tuple(); }

}  // namespace parhelion::ir
