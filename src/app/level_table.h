#pragma once

#include "app/serving_bench.h"

#include <span>
#include <string>
#include <vector>

namespace parhelion::app {

/// The times of the same shapes at one level of numerics.
struct LevelTimes {
  std::string numerics;
  std::vector<ServingTime> times;
};

/// For each shape the milliseconds of each op family at each level, longest first, and how many
/// times as long as at the last level they are. Times were profiled.
std::string print_levels(std::span<const LevelTimes> levels);

}  // namespace parhelion::app
