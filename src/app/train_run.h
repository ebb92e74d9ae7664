#pragma once

#include "train/config/job.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace parhelion::app {

/// Where a training run shows what it does.
struct TrainTerminal {
  std::function<void(std::string_view)> print_line;
  std::function<void(std::string_view)> show_progress;  ///< replaced by the next line
  std::int64_t width = 100;
};

/// What a job would do, in lines: programs, memory, work, data, schedule. Leaves no file behind.
///
/// Errors: as run_training.
std::string training_plan(const train::Job& job, const TrainTerminal& terminal);

/// Runs a job to its end, or until `should_stop`, asked before each step with its number, says so;
/// then it is saved. A run that is in the job's directory already goes on from its newest
/// checkpoint. True if all steps are done.
///
/// Errors: as the parts of a job: settings, model, data, checkpoints and trainer. Those that end
///         training are in the run's log too.
bool run_training(const train::Job& job, const TrainTerminal& terminal,
                  const std::function<bool(std::int64_t step)>& should_stop);

}  // namespace parhelion::app
