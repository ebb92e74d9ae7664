#include "base/random.h"

#include "base/bf16.h"

#include <gtest/gtest.h>

namespace parhelion {
namespace {

TEST(Philox, MatchesThePublishedTestVectors) {
  EXPECT_EQ(philox(0, 0, 0),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const double value = static_cast<double>(normal(1, 2, i));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 20000, 0.0, 0.03);
  EXPECT_NEAR(squares / 20000, 1.0, 0.03);
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(to_bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(1.00390625f).bits, 0x3f80);  // a tie goes to the even mantissa
  EXPECT_EQ(to_bfloat16(1.01171875f).bits, 0x3f82);
  EXPECT_EQ(to_float(to_bfloat16(-2.5f)), -2.5f);
}

TEST(Half, ConvertsNormalAndSubnormalValues) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc000), -2.0f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
}

}  // namespace
}  // namespace parhelion
