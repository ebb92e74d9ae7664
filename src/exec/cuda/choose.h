#pragma once

#include "exec/cuda/candidate.h"

#include <vector>

namespace parhelion::exec::cuda {

/// Ops [first, first + count) of an instance that one kernel runs, and what was decided of each.
struct Choice {
  Candidate candidate;
  std::size_t first = 0;
  std::vector<OpView> ops;
  std::vector<StepReport> reports;
};

/// The first candidate that accepts each op, in order; ops that follow each other are one choice
/// where their candidate runs groups.
///
/// Errors: unsupported if none accepts, with every refusal.
std::vector<Choice> choose_candidates(const ir::Program& instance, Weights weights,
                                      const Device& device);

}  // namespace parhelion::exec::cuda
