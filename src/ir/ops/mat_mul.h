#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// y = op_a(a) op_b(b) [+ bias] [+ accumulator], op = transpose where asked.
///
/// Inputs   (I1) a: [m, k], transposed [k, m]   (I2) b: [k, n], transposed [n, k]
///          (I3) bias: [n], if `bias`
///          (I4) accumulator: f32[m, n], if `accumulate`; tied to the output
/// Output   (O1) y: out[m, n]
/// Checks   (C1) rank(a) = rank(b) = 2   (C2) contracted dims are equal
///          (C3) a, b and y are f32 or bf16   (C4) bias: [n], f32 or bf16
///          (C5) accumulator: f32[m, n] and out = f32   (C6) not bias and accumulate
/// Numerics f32 products in blocks of 256 k from 0, blocks added ascending; then the bias, then one
///          rounding
/// Gradient two matmuls, each its own op; the bias is accumulated over rows
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  bool bias = false;
  bool accumulate = false;
  Kind out = Kind::f32;
  bool operator==(const MatMul&) const = default;
};
Traits traits(const MatMul& op);
std::vector<Factor> factors(const MatMul& op, Types inputs);
std::vector<TensorType> infer(const MatMul& op, Types inputs);
void gradient(const MatMul& op, GradientContext& context);
Cost cost(const MatMul& op, Types inputs, Types outputs);
constexpr auto fields(const MatMul*) {
  return std::tuple(field("transpose_a", &MatMul::transpose_a),
                    field("transpose_b", &MatMul::transpose_b), field("bias", &MatMul::bias),
                    field("accumulate", &MatMul::accumulate), field("out", &MatMul::out));
}

}  // namespace parhelion::ir
