#pragma once

#include "support/conformance/cases.h"

#include <vector>

namespace parhelion::test {

/// Units [begin, end) of the `count` into which a factor's indices fall. Operands may have several
/// indices a unit, as query heads have for each key head.
struct Part {
  std::int64_t begin, end, count;
};

/// Indices of a part alone along `dim`.
Wide slice(const Wide& tensor, std::size_t dim, const Part& part);

/// A case on a part of its indices, and the dims of its outputs that run over them.
struct PartCase {
  Case test;
  Part part;
  std::vector<std::int8_t> output_dim;
};

/// The first half, a middle and the last unit of every parallel factor with two units or more. A
/// table of positions from 0 on has no middle.
std::vector<PartCase> part_cases(const Case& whole);

/// An attention case without the later half of its tokens, or of its rows, or edited logits without
/// the later half of their rows: what came before must not notice. Empty for other families and
/// where no half has a token.
std::vector<PartCase> prefix_cases(const Case& whole);

}  // namespace parhelion::test
