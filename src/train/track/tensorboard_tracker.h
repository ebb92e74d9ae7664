#pragma once

#include "base/json.h"
#include "train/track/tracker.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace parhelion::train {

/// Keeps records in a TensorBoard event file of its own in `directory`, whose name sorts behind
/// those that are there whatever the clock, and which begins by making readers forget their records
/// of `first_step` and later. A run from its first step shows `job` as a table under text.
///
/// Errors: as of AppendFile, while opening; invalid if the directory cannot be made.
std::unique_ptr<Tracker> open_tensorboard_tracker(const std::filesystem::path& directory,
                                                  const Json& job, std::int64_t first_step,
                                                  std::chrono::system_clock::time_point now);

}  // namespace parhelion::train
