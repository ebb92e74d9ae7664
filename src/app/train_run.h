#pragma once

#include "train/config/job.h"

#include <functional>
#include <string_view>

namespace parhelion::app {

/// Where a training run shows what it does.
struct TrainTerminal {
  std::function<void(std::string_view)> print_line;
  std::function<void(std::string_view)> show_progress;  ///< replaced by the next line
  std::int64_t width = 100;
};

/// Prints what a job would do: programs, memory, work, data, schedule.
///
/// Errors: as run_training.
void print_training_plan(const train::Job& job, const TrainTerminal& terminal);

/// Runs a job to its end, or until `should_stop` says so between two steps; then it is saved. A run
/// that is in the job's directory already goes on from its newest checkpoint. True if all steps are
/// done.
///
/// Errors: as the parts of a job: settings, model, data, checkpoints and trainer.
bool run_training(const train::Job& job, const TrainTerminal& terminal,
                  const std::function<bool()>& should_stop);

}  // namespace parhelion::app
