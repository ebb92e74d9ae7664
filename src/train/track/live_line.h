#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace parhelion::train {

/// Where a run is, for people.
struct Progress {
  std::int64_t step = 0;   ///< the last one that is done, counted from 1
  std::int64_t steps = 0;  ///< of the whole run
  double loss = 0.0;
  double tokens_per_second = 0.0;
  std::optional<double> matmul_share;  ///< of the measured peak of matmuls, 1 being all of it
  std::int64_t memory_bytes = 0;
  std::optional<std::chrono::duration<double>> remaining;
};

/// One line of at most `width` characters, such as
/// `step 120/400  loss 2.134  1234 tok/s  61 % of matmul peak  1.9 GiB  ETA 3m12s`. Where it would
/// be longer, memory, share, rate and time are left out, in this order.
std::string live_line(const Progress& progress, std::int64_t width);

/// The same line whole, behind the time of day, for a file: `13:05:09  step 120/400  ...`.
std::string log_line(const Progress& progress, std::chrono::seconds time_of_day);

}  // namespace parhelion::train
