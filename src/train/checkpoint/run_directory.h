#pragma once

#include <filesystem>

namespace parhelion::train {

/// Where the files of a job lie in its directory.
struct RunPaths {
  std::filesystem::path directory;
  std::filesystem::path job;          ///< the effective job, `job.json`
  std::filesystem::path lock;         ///< held while the job runs
  std::filesystem::path cache;        ///< tokenised data
  std::filesystem::path checkpoints;  ///< directories `step-<8 digits>`
  std::filesystem::path metrics;      ///< `metrics.jsonl`
  std::filesystem::path log;          ///< `train.log`
  std::filesystem::path tensorboard;  ///< event files
  std::filesystem::path loss_curve;   ///< `loss.svg`
};
RunPaths run_paths(const std::filesystem::path& directory);

/// A job's directory, which no other job may use while this object lives.
class RunDirectory {
 public:
  /// Makes `directory` with its `checkpoints` where they are missing, locks it, and removes what a
  /// save that was killed left.
  ///
  /// Errors: invalid if it cannot be made or written, or if another job holds it, whose process the
  ///         message names.
  explicit RunDirectory(const std::filesystem::path& directory);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const RunPaths& paths() const { return paths_; }

 private:
  RunPaths paths_;
  int lock_ = -1;
};

}  // namespace parhelion::train
