#pragma once

#include "ir/program.h"
#include "support/reference/wide.h"

namespace parhelion::test {

/// The outputs of an op in float64, as its specification says. Outputs are not rounded; results in
/// between are rounded to bf16 where the specification names a rounding to that type.
std::vector<Wide> evaluate(const ir::Op& op, const std::vector<Wide>& inputs);

/// Runs an instance in float64 and gives the last content of every buffer. State that `buffers`
/// lacks begins as zeros, constants are made by their init.
NamedWide evaluate(const ir::Program& instance, const NamedWide& buffers);

}  // namespace parhelion::test
