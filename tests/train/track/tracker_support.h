#pragma once

#include "train/track/tracker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>

namespace parhelion::train {

/// An empty directory of its own for the running test.
inline std::filesystem::path empty_directory() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) /
      (std::string(test->test_suite_name()) + "." + test->name());
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  return directory;
}

/// A time in seconds since 1970.
inline std::chrono::system_clock::time_point at_second(double seconds) {
  return std::chrono::system_clock::time_point(
      std::chrono::microseconds(std::llround(seconds * 1e6)));
}

}  // namespace parhelion::train
