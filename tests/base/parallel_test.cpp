#include "base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace parhelion {
namespace {

TEST(ForRanges, VisitsEachIndexOnce) {
  for (const std::int64_t count : {0, 1, 7, 100000, 1234567}) {
    std::vector<int> visits(static_cast<std::size_t>(count), 0);
    for_ranges(count, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(count), 1)) << count;
  }
}

TEST(ForRanges, GivesEachThreadAsMuchAsIsWorthIt) {
  std::atomic<int> ranges = 0;
  const auto count_ranges = [&](std::int64_t first, std::int64_t last) {
    EXPECT_GE(last - first, 50);
    ++ranges;
  };
  for_ranges(99, count_ranges, 50);
  EXPECT_EQ(ranges, 1);
  for_ranges(100, count_ranges, 50);
  EXPECT_EQ(ranges, 1 + std::min(2u, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace parhelion
