#include "exec/cpu/kernels/top_log_probabilities.h"

#include "exec/cpu/kernels/log_sum_exp.h"
#include "support/tensor.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

struct TopResult {
  test::Tensor<std::int32_t> ids;
  test::Tensor<float> log_probability;
};

TopResult top_of(const test::Tensor<float>& logits, std::int64_t rows, std::int64_t count) {
  TopResult result = {test::Tensor<std::int32_t>(rows * count), test::Tensor<float>(rows * count)};
  top_log_probabilities({logits.data(), result.ids.data(), result.log_probability.data(), rows,
                         logits.size() / rows, count},
                        2);
  return result;
}

TEST(TopLogProbabilities, HasTheBitsOfLogProbability) {
  test::on_each_vector_target([] {
    constexpr std::int64_t kRows = 3, kColumns = 9001, kCount = 20;
    const auto logits = test::normal_tensor<float>(kRows * kColumns, 4, 3.0f);
    const TopResult top = top_of(logits, kRows, kCount);
    for (std::int64_t place = 0; place < kCount; ++place) {
      std::vector<std::int32_t> ids;
      for (std::int64_t r = 0; r < kRows; ++r) ids.push_back(top.ids[r * kCount + place]);
      test::Tensor<float> y(kRows);
      log_probability({.logits = logits.data(), .rows = kRows, .cols = kColumns}, ids.data(),
                      y.data(), nullptr, 1);
      for (std::int64_t r = 0; r < kRows; ++r)
        EXPECT_EQ(y[r], top.log_probability[r * kCount + place]) << r << ", " << place;
    }
  });
}

TEST(TopLogProbabilities, PrefersLowerIdsOfEqualLogits) {
  test::Tensor<float> logits(6, 1.0f);
  logits[4] = 2.0f;
  logits[2] = 0.0f;
  const TopResult top = top_of(logits, 1, 4);
  EXPECT_EQ(std::vector<std::int32_t>(top.ids.data(), top.ids.data() + 4),
            (std::vector<std::int32_t>{4, 0, 1, 3}));
}

TEST(TopLogProbabilities, GivesNothingWithoutAFiniteMaximum) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& row :
       {std::vector<float>{-infinity, -infinity}, {nan, nan}, {1.0f, nan}, {infinity, 0.0f}}) {
    test::Tensor<float> logits(2);
    std::copy(row.begin(), row.end(), logits.data());
    const TopResult top = top_of(logits, 1, 2);
    for (std::int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(top.ids[i], -1);
      EXPECT_EQ(top.log_probability[i], -infinity);
    }
  }
}

}  // namespace
}  // namespace parhelion::exec::cpu
