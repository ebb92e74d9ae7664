#pragma once

#include "support/conformance/run.h"

namespace parhelion::test {

/// Expects outputs within the tolerance table of the float64 reference. Weights may also be
/// parameters, frozen or trained, with the same bits.
///
/// `slack` is added to the table where a library rounds more often than the family's specification.
void expect_reference(const MakeExecutor& make, const Case& test, double slack = 0);

/// Expects the same bits and numerics from two kinds of executor.
void expect_same_bits(const MakeExecutor& make, const MakeExecutor& other, const Case& test);

/// Expects that a part of a parallel factor's indices alone gives the bits that it has in the
/// whole, for every parallel factor: no result depends on a factor's extent or on its other
/// indices. Attention and edits of logits also give earlier tokens and rows the bits that they have
/// without later ones.
///
/// Where the numerics of a part may differ, as they do with libraries that choose by shape, a part
/// with other numerics promises nothing.
enum class Across : std::uint8_t { same_numerics, numerics_may_differ };
void expect_equal_parts(const MakeExecutor& make, const Case& test,
                        Across across = Across::same_numerics);

}  // namespace parhelion::test
