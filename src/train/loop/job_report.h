#pragma once

#include "train/loop/job_memory.h"
#include "train/loop/programs.h"

#include <map>
#include <string>

namespace parhelion::train {

/// What is computed again in a pass of the largest bucket, for which memory.
struct RecomputeCost {
  std::map<std::string_view, std::int64_t> op_counts;  ///< by family
  double work_share = 0;                               ///< flops over those of a pass without
  std::int64_t kept_activations = 0;  ///< bytes that activations would take without
};

/// What a step costs.
struct JobCost {
  JobMemory memory;
  RecomputeCost recompute;
  double step_flops = 0;         ///< microbatches of the largest bucket, and the update
  std::int64_t step_tokens = 0;  ///< that such a step computes
};

/// Errors: as instantiate_step.
JobCost cost_job(const TrainingPrograms& programs, const Job& job);

/// What `parhelion train --dry-run` prints: programs, memory by kind, work and estimated time of a
/// step, and schedule.
///
/// Units: peak in FLOP per second, as measure_matmul_peak gives it
std::string describe_plan(const TrainingPrograms& programs, const Job& job,
                          std::int64_t total_steps, double peak);

}  // namespace parhelion::train
