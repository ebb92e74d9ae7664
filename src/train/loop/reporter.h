#pragma once

#include "base/json.h"
#include "train/checkpoint/run_directory.h"
#include "train/config/output_settings.h"
#include "train/loop/events.h"
#include "train/track/append_file.h"
#include "train/track/live_line.h"
#include "train/track/tracker.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::train {

/// What a reporter is told of its run and where it writes.
struct ReporterOptions {
  RunPaths paths;
  LogSettings log;
  Json job;
  double flops_per_token = 0;
  double matmul_peak = 0;  ///< FLOP per second, raised by steps that are faster; 0: not shown
  std::function<std::int64_t()> memory_bytes;
  /// Shows a line of text for good, and a line that the next one replaces.
  std::function<void(std::string_view)> print_line;
  std::function<void(std::string_view)> show_progress;
  std::int64_t width = 100;
};

/// Turns a run's events into metrics, a log, lines for people, and the curve at the end.
///
/// Threads: that of the trainer.
class Reporter {
 public:
  explicit Reporter(ReporterOptions options);

  void handle(const Event& event);
  /// Adds a line to the run's log that is shown elsewhere.
  void write_to_log(std::string_view text);

 private:
  void on(const RunStarted& event);
  void on(const StepFinished& event);
  void on(const Evaluated& event);
  void on(const Saved& event);
  void on(const Warned& event);
  void on(const RunEnded& event);

  Progress progress_of(const StepFinished& event);
  void record(std::int64_t step, std::vector<Metric> metrics);
  void draw_loss();
  void say(const std::string& text);

  ReporterOptions options_;
  AppendFile log_;
  std::vector<std::unique_ptr<Tracker>> trackers_;
  std::optional<double> seconds_per_step_;  // smoothed
};

}  // namespace parhelion::train
