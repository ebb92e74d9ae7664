#include "serve/sampling/parameters.h"

#include "base/error.h"
#include "serve/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace parhelion::serve {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const contract::SamplingPolicy kPolicy = {
    .temperature = {.standard = 0.6, .lowest = 0, .highest = 1.5},
    .top_k = {.standard = 20, .lowest = 0, .highest = 100},
    .top_p = {.standard = 0.95, .lowest = 0.1, .highest = 1},
    .min_p = {.standard = 0, .lowest = 0, .highest = 0.5},
};

TEST(EffectiveSampling, IsThePolicysWhereTheRequestIsSilent) {
  const SamplingParameters result = effective_sampling(kPolicy, {});
  EXPECT_FLOAT_EQ(result.temperature, 0.6f);
  EXPECT_EQ(result.top_k, 20);
  EXPECT_FLOAT_EQ(result.top_p, 0.95f);
  EXPECT_EQ(result.min_p, 0.0f);
}

TEST(EffectiveSampling, ClampsToThePolicysRanges) {
  const SamplingParameters result = effective_sampling(
      kPolicy, {.temperature = 9.0, .top_k = 1000.0, .top_p = 0.01, .min_p = 0.9});
  EXPECT_FLOAT_EQ(result.temperature, 1.5f);
  EXPECT_EQ(result.top_k, 100);
  EXPECT_FLOAT_EQ(result.top_p, 0.1f);
  EXPECT_FLOAT_EQ(result.min_p, 0.5f);
}

TEST(EffectiveSampling, RefusesValuesThatAreNoLegalNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT([&] { effective_sampling(kPolicy, {.temperature = nan}); },
              ThrowsMessage<Error>(HasSubstr("temperature: is nan")));
  EXPECT_THAT([] { effective_sampling(kPolicy, {.top_k = -1.0}); },
              ThrowsMessage<Error>(HasSubstr("top_k: is -1")));
  EXPECT_THAT([] { effective_sampling(kPolicy, {.min_p = 1.1}); },
              ThrowsMessage<Error>(HasSubstr("min_p: is 1.1")));
}

TEST(EffectiveSampling, TopPZeroIsGreedy) {
  contract::SamplingPolicy policy = kPolicy;
  policy.top_p.lowest = 0;
  EXPECT_EQ(effective_sampling(policy, {.temperature = 1.0, .top_p = 0.0}).temperature, 0.0f);
}

}  // namespace
}  // namespace parhelion::serve
