#include "train/track/sparkline.h"

#include <gtest/gtest.h>

#include <limits>

namespace parhelion::train {
namespace {

std::vector<LossPoint> points_of(const std::vector<double>& losses) {
  std::vector<LossPoint> points;
  for (const double loss : losses) points.push_back({std::ssize(points) + 1, loss});
  return points;
}

TEST(LossSparkline, DrawsEachLossWhereTheyFit) {
  EXPECT_EQ(loss_sparkline(points_of({8, 7, 6, 5, 4, 3, 2, 1}), 20), "8 █▇▆▅▄▃▂▁ 1");
}

TEST(LossSparkline, DrawsMeansWhereTheyDoNot) {
  EXPECT_EQ(loss_sparkline(points_of({9, 7, 5, 3, 2, 0}), 3), "9 █▄▁ 0");
}

TEST(LossSparkline, PassesOverLossesThatAreNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(loss_sparkline(points_of({nan, 2, 1, nan}), 10), "2 █▁ 1");
  EXPECT_EQ(loss_sparkline(points_of({nan}), 10), "");
}

TEST(LossSparkline, DrawsLossesThatAreAllEqual) {
  EXPECT_EQ(loss_sparkline(points_of({2, 2}), 10), "2 ▁▁ 2");
}

}  // namespace
}  // namespace parhelion::train
