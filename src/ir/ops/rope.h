#pragma once

#include "ir/answers.h"

#include <tuple>
#include <vector>

namespace parhelion::ir {

/// Where rope frequencies come from.
enum class RopeScaling : std::uint8_t {
  none,
  linear,         ///< every frequency divided by `factor`
  by_wavelength,  ///< long wavelengths divided by `factor`, short ones kept, smooth between
};
std::string_view name(RopeScaling scaling);

/// The table of a rotary embedding: cos in the first dim/2 columns, sin in the last.
///
/// Output   (O1) f32[positions, dim]
/// Checks   (C1) dim even and > 0   (C2) theta > 0   (C3) factor > 0
///          (C4) by_wavelength: high_frequency > low_frequency > 0, original_positions > 0
/// Source   Su et al. 2021, arXiv:2104.09864; by_wavelength is the rule of Llama 3.1's
/// `rope_scaling`
struct RopeTable {
  std::int64_t positions = 0;
  std::int64_t dim = 0;
  double theta = 10000.0;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1.0;
  double low_frequency = 1.0;
  double high_frequency = 4.0;
  std::int64_t original_positions = 0;
  bool operator==(const RopeTable&) const = default;
};
Traits traits(const RopeTable& op);
std::vector<Factor> factors(const RopeTable& op, Types inputs);
std::vector<TensorType> infer(const RopeTable& op, Types inputs);
void gradient(const RopeTable& op, GradientContext& context);
Cost cost(const RopeTable& op, Types inputs, Types outputs);
constexpr auto fields(const RopeTable*) {
  return std::tuple(field("positions", &RopeTable::positions), field("dim", &RopeTable::dim),
                    field("theta", &RopeTable::theta), field("scaling", &RopeTable::scaling),
                    field("factor", &RopeTable::factor),
                    field("low_frequency", &RopeTable::low_frequency),
                    field("high_frequency", &RopeTable::high_frequency),
                    field("original_positions", &RopeTable::original_positions));
}

/// Rotates halves by the angle of the token's position: with c, s of its table row and x = [x1,
/// x2], y = [x1 c - x2 s, x2 c + x1 s]; `inverse` turns back.
///
/// Inputs   (I1) x: [t, heads, d]   (I2) positions: i32[t]   (I3) table: f32[p, d]
/// Output   (O1) y: type of x
/// Checks   (C1) x: rank 3, f32 or bf16   (C2) positions: i32[t]   (C3) table: f32, columns = d
/// Gradient the same with the other direction
struct Rope {
  bool inverse = false;
  bool operator==(const Rope&) const = default;
};
Traits traits(const Rope& op);
std::vector<Factor> factors(const Rope& op, Types inputs);
std::vector<TensorType> infer(const Rope& op, Types inputs);
void gradient(const Rope& op, GradientContext& context);
Cost cost(const Rope& op, Types inputs, Types outputs);
constexpr auto fields(const Rope*) { return std::tuple(field("inverse", &Rope::inverse)); }

}  // namespace parhelion::ir
