#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// sum += x, elementwise.
///
/// Inputs   (I1) x: [...] f32 | bf16   (I2) sum: f32[...], tied to the output
/// Output   (O1) f32[...]
/// Checks   (C1) x: f32 or bf16   (C2) sum: f32, shape of x
struct Accumulate {
  bool operator==(const Accumulate&) const = default;
};
Traits traits(const Accumulate& op);
std::vector<Factor> factors(const Accumulate& op, Types inputs);
std::vector<TensorType> infer(const Accumulate& op, Types inputs);
void gradient(const Accumulate& op, GradientContext& context);
Cost cost(const Accumulate& op, Types inputs, Types outputs);
constexpr auto fields(const Accumulate*) { return std::tuple(); }

/// x = 0: begins a sum anew.
///
/// Inputs   (I1) x: f32[...], tied to the output
/// Output   (O1) f32[...]
/// Checks   (C1) x: f32
struct Clear {
  bool operator==(const Clear&) const = default;
};
Traits traits(const Clear& op);
std::vector<Factor> factors(const Clear& op, Types inputs);
std::vector<TensorType> infer(const Clear& op, Types inputs);
void gradient(const Clear& op, GradientContext& context);
Cost cost(const Clear& op, Types inputs, Types outputs);
constexpr auto fields(const Clear*) { return std::tuple(); }

/// y = sum of x^2 over all elements.
///
/// Inputs   (I1) x: f32[...]
/// Output   (O1) f32[]
/// Checks   (C1) x: f32
/// Numerics squares are added in f32 in blocks of kSquaredNormBlock elements, the blocks ascending
///          in f64
struct SquaredNorm {
  bool operator==(const SquaredNorm&) const = default;
};
inline constexpr std::int64_t kSquaredNormBlock = 4096;
Traits traits(const SquaredNorm& op);
std::vector<Factor> factors(const SquaredNorm& op, Types inputs);
std::vector<TensorType> infer(const SquaredNorm& op, Types inputs);
void gradient(const SquaredNorm& op, GradientContext& context);
Cost cost(const SquaredNorm& op, Types inputs, Types outputs);
constexpr auto fields(const SquaredNorm*) { return std::tuple(); }

/// What a step's sums say: its mean loss, its gradient's norm, and how far the update goes.
///
///   loss = loss_sum / weight      norm = sqrt(squared_norm) / weight
///   apply = weight > 0 and loss and norm are finite
///   scale = min(1, max_norm / (norm + 1e-6)) / weight, without the min where max_norm is 0
///
/// Where weight is 0, loss, norm and scale are 0: a step in which nothing counted changes nothing.
///
/// Inputs   (I1) loss_sum   (I2) weight   (I3) squared_norm, f32[] each
/// Outputs  (O1) loss   (O2) norm   (O3) scale, f32[] each   (O4) apply: bool8[]
/// Checks   (C1) inputs: f32[]   (C2) max_norm >= 0
struct StepScale {
  double max_norm = 0.0;
  bool operator==(const StepScale&) const = default;
};
Traits traits(const StepScale& op);
std::vector<Factor> factors(const StepScale& op, Types inputs);
std::vector<TensorType> infer(const StepScale& op, Types inputs);
void gradient(const StepScale& op, GradientContext& context);
Cost cost(const StepScale& op, Types inputs, Types outputs);
constexpr auto fields(const StepScale*) {
  return std::tuple(field("max_norm", &StepScale::max_norm));
}

}  // namespace parhelion::ir
