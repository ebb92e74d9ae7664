#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace parhelion {
namespace {

TEST(EditDistance, CountsInsertionsRemovalsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("lr", "lr"), 0);
  EXPECT_EQ(edit_distance("", "lr"), 2);
  EXPECT_EQ(edit_distance("lrr", "lr"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3);
}

constexpr std::array<std::string_view, 4> kNames = {"beta1", "beta2", "weight_decay", "lr"};

TEST(Nearest, FindsTheFirstNameWithTheLeastDistance) {
  EXPECT_EQ(nearest("beta", kNames), "beta1");
  EXPECT_EQ(nearest("beta22", kNames), "beta2");
  EXPECT_EQ(nearest("weightdecay", kNames), "weight_decay");
}

TEST(Nearest, ChangesAThirdOfTheTextAtMostOrOneByte) {
  EXPECT_EQ(nearest("l", kNames), "lr");
  EXPECT_EQ(nearest("wait_decay", kNames), "weight_decay");
  EXPECT_EQ(nearest("eps", kNames), "");
  EXPECT_EQ(nearest("decay", kNames), "");
}

}  // namespace
}  // namespace parhelion
