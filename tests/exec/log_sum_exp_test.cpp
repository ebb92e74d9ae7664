#include "exec/cpu/kernels/log_sum_exp.h"

#include "support/tensor.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double log_sum_exp_double(const test::Tensor<float>& x, std::int64_t first, std::int64_t count) {
  double max = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < count; ++i) max = std::max(max, x.at(first + i));
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(x.at(first + i) - max);
  return max + std::log(sum);
}

TEST(LogSumExp, MatchesDoubles) {
  test::on_each_vector_target([] {
    for (const std::int64_t count : {1, 2, 17, 64, 4095, 4096, 4097, 49152}) {
      const auto x = test::normal_tensor<float>(count, 1, 5.0f);
      const double want = log_sum_exp_double(x, 0, count);
      EXPECT_NEAR(static_cast<double>(log_sum_exp(x.data(), count)), want,
                  2e-6 * std::abs(want) + 1e-6);
    }
  });
}

TEST(LogSumExp, HasOneResultOnEveryVectorWidth) {
  const auto x = test::normal_tensor<float>(49999, 2, 3.0f);
  const float wide = log_sum_exp(x.data(), x.size());
  hwy::SetSupportedTargetsForTest(HWY_AVX2);
  const float narrow = log_sum_exp(x.data(), x.size());
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(wide, narrow);
}

TEST(LogSumExp, PassesOverInfinities) {
  test::Tensor<float> x(9000, -kInfinity);
  EXPECT_EQ(log_sum_exp(x.data(), 9000), -kInfinity);
  EXPECT_EQ(log_sum_exp(x.data(), 0), -kInfinity);
  x[8500] = 3.0f;
  EXPECT_EQ(log_sum_exp(x.data(), 9000), 3.0f);
}

TEST(LogSumExp, KeepsNan) {
  for (const std::int64_t at : {0, 5000}) {
    test::Tensor<float> x(9000, -kInfinity);
    x[at] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(log_sum_exp(x.data(), 9000)));
    x[8999] = 1.0f;
    EXPECT_TRUE(std::isnan(log_sum_exp(x.data(), 9000)));
  }
}

TEST(LogProbability, SubtractsTheFoldAndIgnoresUnknownIds) {
  test::on_each_vector_target([] {
    const auto logits = test::normal_tensor<float>(5 * 4999, 3, 2.0f);
    const std::vector<std::int32_t> ids = {0, 4998, -100, 77, 4999};
    test::Tensor<float> y(5, 9.0f);
    test::Tensor<float> lse(5);
    log_probability({logits.data(), 5, 4999}, ids.data(), y.data(), lse.data(), 2);
    for (std::int64_t r = 0; r < 5; ++r) {
      const std::int32_t id = ids[static_cast<std::size_t>(r)];
      EXPECT_EQ(lse[r], log_sum_exp(logits.data() + r * 4999, 4999));
      const bool is_known = id >= 0 && id < 4999;
      EXPECT_EQ(y[r], is_known ? logits[r * 4999 + id] - lse[r] : 0.0f);
    }
  });
}

template <class T>
test::Tensor<T> run_cross_entropy_grad(const test::Tensor<float>& logits,
                                       const test::Tensor<float>& lse,
                                       const std::vector<std::int32_t>& labels,
                                       const test::Tensor<float>& dloss, int threads) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  test::Tensor<T> d(logits.size(), test::stored<T>(9.0f));
  cross_entropy_grad({{logits.data(), rows, logits.size() / rows},
                      lse.data(),
                      labels.data(),
                      dloss.data(),
                      sizeof(T) == 4 ? ir::Kind::f32 : ir::Kind::bf16,
                      d.data()},
                     threads);
  return d;
}

TEST(CrossEntropyGrad, MatchesFiniteDifferences) {
  test::on_each_vector_target([] {
    constexpr std::int64_t kCols = 333;
    auto logits = test::normal_tensor<float>(3 * kCols, 4, 2.0f);
    const std::vector<std::int32_t> labels = {7, -100, 332};
    const auto dloss = test::normal_tensor<float>(3, 5);
    test::Tensor<float> lse(3);
    log_sum_exp({logits.data(), 3, kCols}, lse.data(), 1);
    const auto d = run_cross_entropy_grad<float>(logits, lse, labels, dloss, 2);
    const auto expected = [&](std::int64_t i) {
      const std::int32_t label = labels[static_cast<std::size_t>(i / kCols)];
      if (label < 0) return 0.0;
      const std::int64_t row = i / kCols * kCols;
      const float kept = logits[i];
      logits[i] = kept + 0x1p-8f;
      const double up = log_sum_exp_double(logits, row, kCols) - logits.at(row + label);
      logits[i] = kept - 0x1p-8f;
      const double down = log_sum_exp_double(logits, row, kCols) - logits.at(row + label);
      logits[i] = kept;
      return dloss.at(i / kCols) * (up - down) * 0x1p7;
    };
    EXPECT_TRUE(test::is_near(d, expected, 2e-5));
    const auto rounded = run_cross_entropy_grad<BFloat16>(logits, lse, labels, dloss, 1);
    const auto wide = [&](std::int64_t i) { return d.at(i); };
    EXPECT_TRUE(test::is_near(rounded, wide, test::tolerance<BFloat16>(1)));
  });
}

TEST(CrossEntropyGrad, WorksInPlace) {
  auto logits = test::normal_tensor<float>(2 * 50, 6);
  const std::vector<std::int32_t> labels = {49, 3};
  const test::Tensor<float> dloss(2, 0.5f);
  test::Tensor<float> lse(2);
  log_sum_exp({logits.data(), 2, 50}, lse.data(), 1);
  const auto apart = run_cross_entropy_grad<float>(logits, lse, labels, dloss, 1);
  cross_entropy_grad({{logits.data(), 2, 50},
                      lse.data(),
                      labels.data(),
                      dloss.data(),
                      ir::Kind::f32,
                      logits.data()},
                     1);
  EXPECT_TRUE(test::same_bits(apart, logits));
}

}  // namespace
}  // namespace parhelion::exec::cpu
