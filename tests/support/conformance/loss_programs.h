#pragma once

#include "ir/program.h"
#include "support/reference/wide.h"

#include <string>
#include <vector>

namespace parhelion::test {

/// A program with capacities and content for its buffers.
struct FilledProgram {
  std::string name;
  ir::Program program;
  ir::Capacities capacities;
  NamedWide buffers;
  std::int64_t terms = 64;  ///< of the longest chain of sums
};

/// One that gives a scalar loss as the output `loss`.
struct LossProgram : FilledProgram {
  ir::ValueId loss;
};

/// One program in f32 for each family that has a gradient, and some with parameters used twice.
std::vector<LossProgram> loss_programs();

/// A small decoder with two documents and padding.
LossProgram decoder_program(ir::Kind kind);

/// The decoder with paged keys and values: one row with a prompt of 8 tokens, one with a 17th
/// token.
FilledProgram extend_program(ir::Kind kind);

}  // namespace parhelion::test
