#pragma once

#include "ir/element.h"

#include <cmath>
#include <cstdint>

namespace parhelion::test {

/// How far a kernel's result may be from the float64 reference, relative to max(1, |expected|).
///
/// | stored as | bound                                                                           |
/// |-----------|---------------------------------------------------------------------------------|
/// | f32       | 2^-22 (4 + sqrt(terms)): roundings of a sum of `terms` numbers of unit scale | |
/// bf16      | the same, and 2^-8 1.25: the last rounding and one before it                      |
/// | integers  | 0                                                                               |
inline double tolerance(ir::Kind kind, std::int64_t terms) {
  const double sums = 0x1p-22 * (4 + std::sqrt(static_cast<double>(terms)));
  if (kind == ir::Kind::f32) return sums;
  return kind == ir::Kind::bf16 ? sums + 0x1.4p-8 : 0;
}

}  // namespace parhelion::test
