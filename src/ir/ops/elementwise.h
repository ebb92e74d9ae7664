#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

enum class BinaryFunction : std::uint8_t { add, multiply };
std::string_view name(BinaryFunction function);

/// y = f(a, b) elementwise, in f32, rounded once.
///
/// Inputs   (I1) a: [...] f32 | bf16   (I2) b: type of a
/// Output   (O1) type of a
/// Checks   (C1) a: f32 or bf16   (C2) type(b) = type(a)
struct Binary {
  BinaryFunction function = BinaryFunction::add;
  bool operator==(const Binary&) const = default;
};
Traits traits(const Binary& op);
std::vector<Factor> factors(const Binary& op, Types inputs);
std::vector<TensorType> infer(const Binary& op, Types inputs);
void gradient(const Binary& op, GradientContext& context);
Cost cost(const Binary& op, Types inputs, Types outputs);
constexpr auto fields(const Binary*) { return std::tuple(field("function", &Binary::function)); }

/// y = x rounded to another kind, to nearest even.
///
/// Inputs   (I1) x: [...] f32 | bf16
/// Output   (O1) to[...]
/// Checks   (C1) x: f32 or bf16   (C2) to: f32 or bf16
struct Cast {
  Kind to = Kind::f32;
  bool operator==(const Cast&) const = default;
};
Traits traits(const Cast& op);
std::vector<Factor> factors(const Cast& op, Types inputs);
std::vector<TensorType> infer(const Cast& op, Types inputs);
void gradient(const Cast& op, GradientContext& context);
Cost cost(const Cast& op, Types inputs, Types outputs);
constexpr auto fields(const Cast*) { return std::tuple(field("to", &Cast::to)); }

}  // namespace parhelion::ir
