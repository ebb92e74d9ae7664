#pragma once

#include "support/reference/wide.h"

#include <cstdint>
#include <vector>

namespace parhelion::test {

inline constexpr ir::Kind kF32 = ir::Kind::f32;
inline constexpr ir::Kind kBf16 = ir::Kind::bf16;

/// A shape of numbers.
ir::Shape shape_of(const std::vector<std::int64_t>& dims);

/// Normal numbers times `scale`, rounded to `kind`; a function of all arguments alone.
Wide normals(ir::Kind kind, const std::vector<std::int64_t>& dims, std::uint64_t seed,
             double scale = 1);

/// The scale at which a sum of `terms` normal numbers is one.
double unit_scale(std::int64_t terms);

/// One number everywhere.
Wide filled(ir::Kind kind, const std::vector<std::int64_t>& dims, double value);

/// A vector of these numbers.
Wide listed(ir::Kind kind, const std::vector<double>& values);

/// Numbers of [low, high), i32.
Wide indices(std::int64_t count, std::int64_t low, std::int64_t high, std::uint64_t seed);

/// Prefix sums of lengths, i32, with a 0 before.
Wide prefix_sums(const std::vector<std::int64_t>& lengths);

/// The tensor rounded to its kind, as an executor would store it.
Wide stored_as_is(Wide tensor);

}  // namespace parhelion::test
