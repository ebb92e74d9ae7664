#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// y[r, c] = w[c] * round(x[r, c] * rsqrt(mean(x[r, :]^2) + eps)), round = to the type of x; r runs
/// over all leading dims.
///
/// Inputs   (I1) x: [..., c] f32 | bf16   (I2) w: [c]
/// Output   (O1) y: type of x
/// Checks   (C1) rank(x) >= 1, f32 or bf16   (C2) shape(w) = [c]   (C3) dtype(w) = dtype(x)
///          (C4) eps > 0
/// Numerics the mean accumulates in f32 whatever the type of x
/// Gradient keeps x and w, recomputes the rsqrt
/// Source   Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4
struct RmsNorm {
  double eps = 1e-6;
  bool operator==(const RmsNorm&) const = default;
};
Traits traits(const RmsNorm& op);
std::vector<Factor> factors(const RmsNorm& op, Types inputs);
std::vector<TensorType> infer(const RmsNorm& op, Types inputs);
void gradient(const RmsNorm& op, GradientContext& context);
Cost cost(const RmsNorm& op, Types inputs, Types outputs);
constexpr auto fields(const RmsNorm*) { return std::tuple(field("eps", &RmsNorm::eps)); }

/// The gradient of RmsNorm with respect to x: with g = w * dy and i = rsqrt(mean(x^2) + eps),
/// dx = i * (g - x * i^2 * mean(g * x)).
///
/// Inputs   (I1) x: [..., c]   (I2) w: [c]   (I3) dy: type of x
/// Output   (O1) dx: type of x
/// Checks   those of RmsNorm, (C5) type(dy) = type(x)
struct RmsNormGradInput {
  double eps = 1e-6;
  bool operator==(const RmsNormGradInput&) const = default;
};
Traits traits(const RmsNormGradInput& op);
std::vector<Factor> factors(const RmsNormGradInput& op, Types inputs);
std::vector<TensorType> infer(const RmsNormGradInput& op, Types inputs);
void gradient(const RmsNormGradInput& op, GradientContext& context);
Cost cost(const RmsNormGradInput& op, Types inputs, Types outputs);
constexpr auto fields(const RmsNormGradInput*) {
  return std::tuple(field("eps", &RmsNormGradInput::eps));
}

/// acc[c] += sum over rows of dy[r, c] * round(x[r, c] * rsqrt(mean(x[r, :]^2) + eps)).
///
/// Inputs   (I1) x: [..., c]   (I2) dy: type of x   (I3) acc: f32[c], tied to the output
/// Output   (O1) f32[c]
/// Checks   (C1) rank(x) >= 1, f32 or bf16   (C2) type(dy) = type(x)   (C3) acc: f32[c]
///          (C4) eps > 0
struct RmsNormGradWeight {
  double eps = 1e-6;
  bool operator==(const RmsNormGradWeight&) const = default;
};
Traits traits(const RmsNormGradWeight& op);
std::vector<Factor> factors(const RmsNormGradWeight& op, Types inputs);
std::vector<TensorType> infer(const RmsNormGradWeight& op, Types inputs);
void gradient(const RmsNormGradWeight& op, GradientContext& context);
Cost cost(const RmsNormGradWeight& op, Types inputs, Types outputs);
constexpr auto fields(const RmsNormGradWeight*) {
  return std::tuple(field("eps", &RmsNormGradWeight::eps));
}

/// s = round(x + r), y = RmsNorm(s, w): the residual sum and the norm after it, with the bits of
/// the composition.
///
/// Inputs   (I1) x: [..., c]   (I2) r: type of x   (I3) w: [c]
/// Outputs  (O1) s: type of x   (O2) y: type of x
/// Checks   those of RmsNorm, and with (C1) type(r) = type(x)
struct AddRmsNorm {
  double eps = 1e-6;
  bool operator==(const AddRmsNorm&) const = default;
};
Traits traits(const AddRmsNorm& op);
std::vector<Factor> factors(const AddRmsNorm& op, Types inputs);
std::vector<TensorType> infer(const AddRmsNorm& op, Types inputs);
void gradient(const AddRmsNorm& op, GradientContext& context);
Cost cost(const AddRmsNorm& op, Types inputs, Types outputs);
constexpr auto fields(const AddRmsNorm*) { return std::tuple(field("eps", &AddRmsNorm::eps)); }

}  // namespace parhelion::ir
