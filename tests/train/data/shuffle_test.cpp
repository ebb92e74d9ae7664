#include "train/data/shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace parhelion::train {
namespace {

TEST(Shuffle, IsAPermutation) {
  for (const std::int64_t count : {0, 1, 2, 3, 17, 1000}) {
    std::vector<std::int64_t> order = shuffled_order(count, 7, 3, Shuffled::documents);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, given_order(count));
  }
}

TEST(Shuffle, DependsOnSeedEpochAndWhatIsShuffledAlone) {
  const auto order = shuffled_order(100, 7, 3, Shuffled::documents);
  EXPECT_EQ(shuffled_order(100, 7, 3, Shuffled::documents), order);
  EXPECT_NE(shuffled_order(100, 8, 3, Shuffled::documents), order);
  EXPECT_NE(shuffled_order(100, 7, 4, Shuffled::documents), order);
  EXPECT_NE(shuffled_order(100, 7, 3, Shuffled::microbatches), order);
}

TEST(Shuffle, PutsEachNumberAnywhereEquallyOften) {
  std::array<std::array<int, 3>, 3> counts = {};
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const auto order = shuffled_order(3, seed, 0, Shuffled::documents);
    for (std::size_t i = 0; i < 3; ++i) ++counts[i][static_cast<std::size_t>(order[i])];
  }
  for (const auto& row : counts) {
    for (const int count : row) EXPECT_NEAR(count, 1000, 130);  // five standard deviations
  }
}

}  // namespace
}  // namespace parhelion::train
