#pragma once

#include "train/checkpoint/snapshot.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::train {

/// What became of one save.
struct SaveReport {
  std::int64_t step = 0;
  std::optional<WrittenCheckpoint> written = {};  ///< none if it failed
  std::vector<std::string> warnings = {};         ///< what went wrong; the job can go on
  std::chrono::nanoseconds snapshot{0};           ///< copying, behind the next step
  std::chrono::nanoseconds write{0};              ///< writing, behind the steps
  std::chrono::nanoseconds stall{0};              ///< what the caller waited
};

/// Saves checkpoints behind the caller's back. Each is first copied into memory of its own, while
/// the caller only reads what is saved, and then written from there; the copy is given back once it
/// is written. A save that fails leaves the checkpoints before it as they are.
///
/// Threads: one caller.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(CheckpointStore store);
  /// Waits; a report that nobody polled is logged if it has warnings.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Begins to save, after the save before it has ended. What `snapshot` copies, if it is not
  /// apart, must stay as it is until `wait_snapshot` returns.
  void begin(Snapshot snapshot);
  /// Returns once the bytes given to `begin` may change: at once if they are apart. Call before the
  /// next update.
  void wait_snapshot();
  /// The saves that ended since the last call; never waits.
  std::vector<SaveReport> poll();
  /// Waits for the save under way; the saves that ended since the last call.
  std::vector<SaveReport> close();

 private:
  struct Save {
    std::future<void> copied;
    std::future<SaveReport> report;
    std::chrono::nanoseconds stall{0};
  };

  void end_save();

  CheckpointStore store_;
  std::optional<Save> save_;
  std::vector<SaveReport> ended_;
};

}  // namespace parhelion::train
