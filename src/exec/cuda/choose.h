#pragma once

#include "exec/cuda/candidate.h"
#include "ir/memory_plan.h"

#include <vector>

namespace parhelion::exec::cuda {

/// Ops [first, first + count) of an instance that one kernel runs, and what was decided of each.
struct Choice {
  Candidate candidate;
  std::size_t first = 0;
  std::vector<OpView> ops;
  std::vector<StepReport> reports;
};

/// For each op in order the first fusion that takes it, if the device has fusions, else the first
/// candidate; ops that follow each other are one choice where their candidate runs groups.
///
/// Errors: unsupported if none accepts, with every refusal.
std::vector<Choice> choose_candidates(const ir::Program& instance, const ir::MemoryPlan& memory,
                                      Weights weights, const Device& device);

}  // namespace parhelion::exec::cuda
