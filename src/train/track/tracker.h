#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::train {

/// One number of a step, such as `loss` or `evaluation/loss`.
struct Metric {
  std::string name;
  double value = 0.0;
};

/// What is known of a step.
struct StepRecord {
  std::int64_t step = 0;
  std::chrono::system_clock::time_point time;
  std::vector<Metric> metrics;
};

/// Seconds since 1970, to the microsecond.
inline double unix_seconds(std::chrono::system_clock::time_point time) {
  using std::chrono::microseconds;
  const auto count = std::chrono::duration_cast<microseconds>(time.time_since_epoch()).count();
  return static_cast<double>(count) / 1e6;
}

/// Keeps the records of a run. Opening one that exists goes on with it: what it has of the first
/// step to come and later is removed, since those steps are done again. A disk that takes no more
/// loses records, which is logged, but does not end the run.
///
/// Threads: one at a time.
class Tracker {
 public:
  virtual ~Tracker() = default;
  /// Keeps a record, so that another process sees it at once. Steps ascend.
  virtual void record(const StepRecord& record) = 0;
};

}  // namespace parhelion::train
