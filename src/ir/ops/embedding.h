#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// y[t, :] = table[ids[t], :]; a zero row where ids[t] is outside [0, v). Also gathers rows of an
/// activation.
///
/// Inputs   (I1) ids: i32[t]   (I2) table: [v, h]
/// Output   (O1) y: [t, h], type of table
/// Checks   (C1) ids: i32, rank 1   (C2) table: rank 2, f32 or bf16
/// Gradient accumulates rows by EmbeddingGrad
struct Embedding {
  bool operator==(const Embedding&) const = default;
};
Traits traits(const Embedding& op);
std::vector<Factor> factors(const Embedding& op, Types inputs);
std::vector<TensorType> infer(const Embedding& op, Types inputs);
void gradient(const Embedding& op, GradientContext& context);
Cost cost(const Embedding& op, Types inputs, Types outputs);
constexpr auto fields(const Embedding*) { return std::tuple(); }

/// acc[ids[t], :] += dy[t, :] for t ascending; ids outside [0, v) add nothing.
///
/// Inputs   (I1) ids: i32[t]   (I2) dy: [t, h]   (I3) acc: f32[v, h], tied to the output
/// Output   (O1) f32[v, h]
/// Checks   (C1) ids: i32, rank 1   (C2) dy: [t, h]   (C3) acc: f32[v, h]
struct EmbeddingGrad {
  bool operator==(const EmbeddingGrad&) const = default;
};
Traits traits(const EmbeddingGrad& op);
std::vector<Factor> factors(const EmbeddingGrad& op, Types inputs);
std::vector<TensorType> infer(const EmbeddingGrad& op, Types inputs);
void gradient(const EmbeddingGrad& op, GradientContext& context);
Cost cost(const EmbeddingGrad& op, Types inputs, Types outputs);
constexpr auto fields(const EmbeddingGrad*) { return std::tuple(); }

}  // namespace parhelion::ir
