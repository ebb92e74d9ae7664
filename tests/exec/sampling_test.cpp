#include "exec/cpu/kernels/sampling.h"

#include "exec/cpu/kernels/log_sum_exp.h"
#include "support/tensor.h"
#include "support/vector_targets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace parhelion::exec::cpu {
namespace {

/// Rows of logits with one setting for all, drawn with offsets first_offset, + 1, + 2 and so on.
struct SamplingCase {
  std::int64_t rows = 1;
  std::int64_t vocabulary = 0;
  float temperature = 1.0f;
  std::int32_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;
  std::uint64_t seed = 5;
  std::uint64_t first_offset = 0;
};

struct SamplingResult {
  test::Tensor<std::int32_t> ids;
  test::Tensor<float> log_probability;
};

SamplingResult run_sampling(const SamplingCase& made, const test::Tensor<float>& logits,
                            int threads) {
  const auto rows = static_cast<std::size_t>(made.rows);
  const std::vector<float> temperature(rows, made.temperature);
  const std::vector<std::int32_t> top_k(rows, made.top_k);
  const std::vector<float> top_p(rows, made.top_p);
  const std::vector<float> min_p(rows, made.min_p);
  const std::vector<std::uint64_t> seed(rows, made.seed);
  std::vector<std::uint64_t> offset(rows);
  std::iota(offset.begin(), offset.end(), made.first_offset);
  SamplingResult result = {test::Tensor<std::int32_t>(made.rows), test::Tensor<float>(made.rows)};
  test::Tensor<unsigned char> scratch(
      static_cast<std::int64_t>(sample_scratch_bytes(made.rows, made.vocabulary, threads)));
  sample(
      {logits.data(), temperature.data(), top_k.data(), top_p.data(), min_p.data(), seed.data(),
       offset.data(), result.ids.data(), result.log_probability.data(), made.rows, made.vocabulary},
      scratch.data(), threads);
  return result;
}

/// The same logits in each of `rows` rows.
test::Tensor<float> repeated(const std::vector<float>& row, std::int64_t rows) {
  const auto cols = static_cast<std::int64_t>(row.size());
  test::Tensor<float> logits(rows * cols);
  for (std::int64_t i = 0; i < logits.size(); ++i) {
    logits[i] = row[static_cast<std::size_t>(i % cols)];
  }
  return logits;
}

/// How often each id was drawn.
std::vector<double> frequencies(const SamplingCase& made, const std::vector<float>& row) {
  const auto result = run_sampling(made, repeated(row, made.rows), 2);
  std::vector<double> share(row.size());
  for (std::int64_t r = 0; r < made.rows; ++r) {
    share[static_cast<std::size_t>(result.ids[r])] += 1.0 / static_cast<double>(made.rows);
  }
  return share;
}

const std::vector<float> kProbabilities = {0.1f, 0.4f, 0.2f, 0.1f, 0.2f};

std::vector<float> logits_of(const std::vector<float>& probabilities) {
  std::vector<float> row;
  for (const float p : probabilities) row.push_back(std::log(p) + 3.0f);
  return row;
}

void expect_shares(const SamplingCase& made, const std::vector<double>& want) {
  const auto share = frequencies(made, logits_of(kProbabilities));
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(share[i], want[i], want[i] == 0 ? 0 : 0.015) << "id " << i;
  }
}

TEST(Sampling, DrawsByProbability) {
  expect_shares({.rows = 20000, .vocabulary = 5}, {0.1, 0.4, 0.2, 0.1, 0.2});
}

TEST(Sampling, SharpensByTemperature) {
  const double sum = 0.01 + 0.16 + 0.04 + 0.01 + 0.04;
  expect_shares({.rows = 20000, .vocabulary = 5, .temperature = 0.5f},
                {0.01 / sum, 0.16 / sum, 0.04 / sum, 0.01 / sum, 0.04 / sum});
}

/// What each id should be drawn with, in float64. Logits differ, so there are no ties.
std::vector<double> expected_shares(const SamplingCase& made, const std::vector<float>& row) {
  const double temperature{made.temperature};
  const double min_p{made.min_p};
  const double top_p{made.top_p};
  const std::vector<double> logits(row.begin(), row.end());
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return logits[a] > logits[b]; });
  std::vector<double> weight(row.size());
  for (std::size_t i = 0; i < row.size(); ++i)
    weight[i] = std::exp((logits[i] - logits[order[0]]) / temperature);
  const auto keep = [&](std::size_t count) {
    for (std::size_t i = count; i < order.size(); ++i) weight[order[i]] = 0;
  };
  keep(static_cast<std::size_t>(
      std::count_if(weight.begin(), weight.end(), [&](double w) { return w >= min_p; })));
  if (made.top_k > 0) keep(static_cast<std::size_t>(made.top_k));
  const double left = std::accumulate(weight.begin(), weight.end(), 0.0);
  double mass = 0;
  std::size_t count = 0;
  while (count < order.size() && (count == 0 || mass < top_p * left))
    mass += weight[order[count++]];
  keep(count);
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  for (double& each : weight) each /= total;
  return weight;
}

/// Pearson's statistic of 10^6 draws, over the value that one in 10^4 passes (Wilson and Hilferty,
/// 1931).
double chi_square_ratio(SamplingCase made, const std::vector<float>& row) {
  constexpr int kBatches = 100;
  made.vocabulary = static_cast<std::int64_t>(row.size());
  made.rows = 10'000;
  const std::vector<double> want = expected_shares(made, row);
  std::vector<double> seen(row.size());
  for (int batch = 0; batch < kBatches; ++batch) {
    made.first_offset = static_cast<std::uint64_t>(batch * made.rows);
    const std::vector<double> share = frequencies(made, row);
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += share[i] / kBatches;
  }
  double statistic = 0;
  int freedom = -1;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (want[i] == 0) {
      EXPECT_EQ(seen[i], 0) << "id " << i;
      continue;
    }
    statistic += 1e6 * (seen[i] - want[i]) * (seen[i] - want[i]) / want[i];
    ++freedom;
  }
  const double part = 2.0 / (9.0 * freedom);
  return statistic / (freedom * std::pow(1 - part + 3.719 * std::sqrt(part), 3));
}

TEST(Sampling, PassesAChiSquareTestOfAMillionDraws) {
  std::vector<float> row;
  for (int i = 0; i < 48; ++i) row.push_back(3.0f * std::sin(static_cast<float>(i)));
  EXPECT_LT(chi_square_ratio({}, row), 1.0);
  EXPECT_LT(chi_square_ratio({.temperature = 0.7f, .seed = 11}, row), 1.0);
  EXPECT_LT(
      chi_square_ratio({.temperature = 1.3f, .top_k = 30, .top_p = 0.9f, .min_p = 0.02f}, row),
      1.0);
}

TEST(Sampling, KeepsTheLargestOfTopKAndTiesByLowerId) {
  expect_shares({.rows = 20000, .vocabulary = 5, .top_k = 2}, {0, 2.0 / 3, 1.0 / 3, 0, 0});
}

TEST(Sampling, KeepsTheFewestThatReachTopP) {
  expect_shares({.rows = 20000, .vocabulary = 5, .top_p = 0.55f}, {0, 2.0 / 3, 1.0 / 3, 0, 0});
  expect_shares({.rows = 20000, .vocabulary = 5, .top_p = 0.65f}, {0, 0.5, 0.25, 0, 0.25});
  expect_shares({.rows = 100, .vocabulary = 5, .top_p = 0.0f}, {0, 1, 0, 0, 0});
}

TEST(Sampling, RenormalisesBetweenTopKAndTopP) {
  // Of the three largest, 0.4 / 0.8 reaches 0.5 alone.
  expect_shares({.rows = 100, .vocabulary = 5, .top_k = 3, .top_p = 0.499f}, {0, 1, 0, 0, 0});
}

TEST(Sampling, DropsBelowMinPOfTheMaximum) {
  expect_shares({.rows = 20000, .vocabulary = 5, .min_p = 0.4f}, {0, 0.5, 0.25, 0, 0.25});
}

TEST(Sampling, IsGreedyAtTemperatureZeroAndTopKOne) {
  test::on_each_vector_target([] {
    auto logits = test::normal_tensor<float>(3 * 5001, 7);
    logits[100] = logits[4000] = 50.0f;
    const auto cold = run_sampling({.rows = 3, .vocabulary = 5001, .temperature = 0.0f}, logits, 2);
    const auto one = run_sampling({.rows = 3, .vocabulary = 5001, .top_k = 1}, logits, 1);
    EXPECT_EQ(cold.ids[0], 100);
    for (std::int64_t r = 0; r < 3; ++r) {
      const float* row = logits.data() + r * 5001;
      EXPECT_EQ(cold.ids[r], std::max_element(row, row + 5001) - row);
      EXPECT_EQ(one.ids[r], cold.ids[r]);
      EXPECT_EQ(cold.log_probability[r], row[cold.ids[r]] - log_sum_exp(row, 5001));
    }
  });
}

TEST(Sampling, DependsOnSeedAndOffsetAlone) {
  const auto logits = test::normal_tensor<float>(40 * 999, 8);
  const SamplingCase made = {.rows = 40, .vocabulary = 999, .top_k = 50, .top_p = 0.9f};
  const auto one = run_sampling(made, logits, 1);
  const auto two = run_sampling(made, logits, 2);
  EXPECT_TRUE(std::equal(one.ids.data(), one.ids.data() + 40, two.ids.data()));
  SamplingCase other = made;
  other.seed = 6;
  const auto moved = run_sampling(other, logits, 1);
  EXPECT_FALSE(std::equal(one.ids.data(), one.ids.data() + 40, moved.ids.data()));
}

TEST(Sampling, GivesNoIdWithoutAFiniteMaximum) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& row :
       {std::vector<float>{-infinity, -infinity}, {nan, nan}, {1.0f, nan}, {infinity, 0.0f}}) {
    const auto result = run_sampling({.vocabulary = 2}, repeated(row, 1), 1);
    EXPECT_EQ(result.ids[0], -1);
    EXPECT_EQ(result.log_probability[0], -infinity);
  }
}

TEST(Sampling, NeverDrawsAMaskedId) {
  const float masked = -std::numeric_limits<float>::infinity();
  const auto share = frequencies({.rows = 2000, .vocabulary = 4}, {masked, 1.0f, masked, 1.0f});
  EXPECT_EQ(share[0] + share[2], 0);
  EXPECT_NEAR(share[1], 0.5, 0.05);
}

}  // namespace
}  // namespace parhelion::exec::cpu
