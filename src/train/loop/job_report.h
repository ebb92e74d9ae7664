#pragma once

#include "train/loop/programs.h"

#include <string>

namespace parhelion::train {

/// Memory that a job holds, in bytes. `bound` is what no plan can be below.
struct JobMemory {
  std::int64_t parameters = 0;
  std::int64_t frozen_copies = 0;  ///< of weights under adapters, laid out for products
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t constants = 0;
  std::int64_t activations = 0;  ///< of the largest bucket
  std::int64_t activations_bound = 0;
  std::int64_t total() const {
    return parameters + frozen_copies + gradients + optimizer + constants + activations;
  }
};

/// What a step costs.
struct JobCost {
  JobMemory memory;
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
