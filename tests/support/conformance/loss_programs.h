#pragma once

#include "ir/program.h"
#include "support/reference/wide.h"

#include <string>
#include <vector>

namespace parhelion::test {

/// A program with a scalar loss, which it gives as the output `loss`, and content for its buffers.
struct LossProgram {
  std::string name;
  ir::Program program;
  ir::ValueId loss;
  ir::Capacities capacities;
  NamedWide buffers;
  std::int64_t terms = 64;  ///< of the longest chain of sums
};

/// One program in f32 for each family that has a gradient, and some with parameters used twice.
std::vector<LossProgram> loss_programs();

/// A small decoder with two documents and padding.
LossProgram decoder_program(ir::Kind kind);

}  // namespace parhelion::test
