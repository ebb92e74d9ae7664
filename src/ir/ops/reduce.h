#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

enum class ReduceFunction : std::uint8_t { sum, mean, max };
std::string_view name(ReduceFunction function);

/// y[r] = f over all trailing dims from `axis` on; r runs over the dims before it.
///
/// Inputs   (I1) x: [...] f32
/// Output   (O1) f32, the first `axis` dims of x
/// Checks   (C1) x: f32   (C2) 0 <= axis < rank(x)
/// Gradient of sum and mean: Broadcast
struct Reduce {
  ReduceFunction function = ReduceFunction::sum;
  std::int64_t axis = 0;
  bool operator==(const Reduce&) const = default;
};
Traits traits(const Reduce& op);
std::vector<Factor> factors(const Reduce& op, Types inputs);
std::vector<TensorType> infer(const Reduce& op, Types inputs);
void gradient(const Reduce& op, GradientContext& context);
Cost cost(const Reduce& op, Types inputs, Types outputs);
constexpr auto fields(const Reduce*) {
  return std::tuple(field("function", &Reduce::function), field("axis", &Reduce::axis));
}

/// y[r, ...] = x[r], or x[r] / repetitions where `mean`, repeated over new trailing dims `shape`.
///
/// Inputs   (I1) x: [...] f32
/// Output   (O1) f32[..., shape]
/// Checks   (C1) x: f32
struct Broadcast {
  Shape shape = {};
  bool mean = false;
  bool operator==(const Broadcast&) const = default;
};
Traits traits(const Broadcast& op);
std::vector<Factor> factors(const Broadcast& op, Types inputs);
std::vector<TensorType> infer(const Broadcast& op, Types inputs);
void gradient(const Broadcast& op, GradientContext& context);
Cost cost(const Broadcast& op, Types inputs, Types outputs);
constexpr auto fields(const Broadcast*) {
  return std::tuple(field("shape", &Broadcast::shape), field("mean", &Broadcast::mean));
}

/// acc[c] += sum over rows of dy[r, c], rows ascending.
///
/// Inputs   (I1) dy: [r, c] f32 | bf16   (I2) acc: f32[c], tied to the output
/// Output   (O1) f32[c]
/// Checks   (C1) dy: rank 2, f32 or bf16   (C2) acc: f32[c]
struct AccumulateRows {
  bool operator==(const AccumulateRows&) const = default;
};
Traits traits(const AccumulateRows& op);
std::vector<Factor> factors(const AccumulateRows& op, Types inputs);
std::vector<TensorType> infer(const AccumulateRows& op, Types inputs);
void gradient(const AccumulateRows& op, GradientContext& context);
Cost cost(const AccumulateRows& op, Types inputs, Types outputs);
constexpr auto fields(const AccumulateRows*) { return std::tuple(); }

}  // namespace parhelion::ir
