#include "train/track/live_line.h"

#include "train/track/duration.h"

#include <gtest/gtest.h>

#include <cmath>

namespace parhelion::train {
namespace {

using std::chrono::seconds;

Progress progress() {
  return {120, 400, 2.1342, 1234.4, 0.61, (std::int64_t{19} << 30) / 10, seconds(192)};
}

TEST(DurationText, HasOneOrTwoUnits) {
  const auto text = [](double value) {
    return duration_text(std::chrono::duration<double>(value));
  };
  EXPECT_EQ(text(0), "0ms");
  EXPECT_EQ(text(0.0123), "12ms");
  EXPECT_EQ(text(0.9994), "999ms");
  EXPECT_EQ(text(0.9996), "1.0s");
  EXPECT_EQ(text(9.94), "9.9s");
  EXPECT_EQ(text(9.96), "10s");
  EXPECT_EQ(text(59.4), "59s");
  EXPECT_EQ(text(59.6), "1m00s");
  EXPECT_EQ(text(192), "3m12s");
  EXPECT_EQ(text(3599.6), "1h00m");
  EXPECT_EQ(text(3720), "1h02m");
  EXPECT_EQ(text(51 * 3600), "2d03h");
}

TEST(DurationText, IsUnknownIfThereIsNone) {
  for (const double value : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(duration_text(std::chrono::duration<double>(value)), "?");
  }
}

TEST(LiveLine, TellsWhereTheRunIs) {
  EXPECT_EQ(live_line(progress(), 100),
            "step 120/400  loss 2.134  1234 tok/s  61 % of matmul peak  1.9 GiB  ETA 3m12s");
}

TEST(LiveLine, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(live_line({1, 400, std::nan(""), 3.26, std::nullopt, 700 << 20, std::nullopt}, 100),
            "step 1/400  loss nan  3.3 tok/s  700 MiB");
}

TEST(LiveLine, LeavesOutTheLeastImportantWhereItIsNarrow) {
  EXPECT_EQ(live_line(progress(), 77),
            "step 120/400  loss 2.134  1234 tok/s  61 % of matmul peak  1.9 GiB  ETA 3m12s");
  EXPECT_EQ(live_line(progress(), 76),
            "step 120/400  loss 2.134  1234 tok/s  61 % of matmul peak  ETA 3m12s");
  EXPECT_EQ(live_line(progress(), 60), "step 120/400  loss 2.134  1234 tok/s  ETA 3m12s");
  EXPECT_EQ(live_line(progress(), 40), "step 120/400  loss 2.134  ETA 3m12s");
  EXPECT_EQ(live_line(progress(), 30), "step 120/400  loss 2.134");
  EXPECT_EQ(live_line(progress(), 8), "step 120");
}

TEST(LogLine, IsWholeBehindTheTimeOfDay) {
  EXPECT_EQ(log_line(progress(), std::chrono::hours(13) + std::chrono::minutes(5) + seconds(9)),
            "13:05:09  step 120/400  loss 2.134  1234 tok/s  61 % of matmul peak  1.9 GiB  "
            "ETA 3m12s");
}

}  // namespace
}  // namespace parhelion::train
