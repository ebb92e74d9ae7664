#pragma once

#include "base/setting.h"

#include <cstdint>
#include <tuple>

namespace parhelion::train {

/// Table `[checkpoint]`: when the run is saved.
struct CheckpointSettings {
  std::int64_t every = 0;
  std::int64_t keep = 2;
  bool operator==(const CheckpointSettings&) const = default;
};

constexpr auto settings(const CheckpointSettings*) {
  return std::tuple(setting("every", &CheckpointSettings::every,
                            "steps from one checkpoint to the next; 0 saves only the end. An "
                            "interrupted run saves its last step in any case"),
                    setting("keep", &CheckpointSettings::keep,
                            "checkpoints that stay, the newest ones; 0 keeps all"));
}

/// Table `[log]`: what is written of each step.
struct LogSettings {
  std::int64_t every = 1;
  bool tensorboard = true;
  bool operator==(const LogSettings&) const = default;
};

constexpr auto settings(const LogSettings*) {
  return std::tuple(setting("every", &LogSettings::every,
                            "steps from one record to the next in metrics, log and curve, at least "
                            "1"),
                    setting("tensorboard", &LogSettings::tensorboard,
                            "whether TensorBoard event files are written beside metrics.jsonl"));
}

}  // namespace parhelion::train
