#pragma once

#include "train/checkpoint/checkpoint_writer.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace parhelion::train {

using Seconds = std::chrono::duration<double>;

/// A run begins, or goes on from a checkpoint.
struct RunStarted {
  std::int64_t step = 0;  ///< steps that are done
  std::int64_t total_steps = 0;
};

/// A step is done. Steps count from 1.
struct StepFinished {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;
  double loss = 0;
  double gradient_norm = 0;  ///< before clipping
  double lr = 0;
  double counted_tokens = 0;     ///< those that have a loss
  std::int64_t tokens = 0;       ///< computed, padding left out
  std::int64_t tokens_seen = 0;  ///< in all steps
  std::int64_t skipped_steps = 0;
  bool applied = false;
  Seconds duration{0};
  Seconds data_stall{0};      ///< waited for microbatches
  Seconds snapshot_stall{0};  ///< waited for a checkpoint's copy
};

/// Held-out data were scored, and texts generated.
struct Generated {
  std::string prompt = {};
  std::string text = {};
};
struct Evaluated {
  std::int64_t step = 0;
  double loss = 0;
  double tokens = 0;  ///< 0 if no data were scored
  std::vector<Generated> texts = {};
  Seconds duration{0};
};

/// A checkpoint was written, or was not: then it has warnings.
struct Saved {
  SaveReport report;
};

/// Something that the job survives and its owner should know.
struct Warned {
  std::string text = {};
};

/// The run ended: all steps are done, or somebody asked it to stop.
struct RunEnded {
  std::int64_t step = 0;
  bool complete = false;
};

/// What a trainer tells of its run, in order, on the thread that runs it.
using Event = std::variant<RunStarted, StepFinished, Evaluated, Saved, Warned, RunEnded>;
using EventSink = std::function<void(const Event&)>;

}  // namespace parhelion::train
