// Worked examples of sampling and attention: the number of each is in its name.
#include "exec/attention_case.h"
#include "exec/cpu/kernels/edit_logits.h"
#include "exec/cpu/kernels/sampling.h"
#include "support/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <set>

namespace parhelion::exec::cpu {
namespace {

struct Kept {
  std::int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
};

/// The ids that 4000 draws from a distribution give.
std::set<std::int32_t> ids_kept(const std::vector<float>& probabilities, const Kept& kept) {
  constexpr std::int64_t kDraws = 4000;
  const auto vocabulary = static_cast<std::int64_t>(probabilities.size());
  test::Tensor<float> logits(kDraws * vocabulary);
  for (std::int64_t i = 0; i < logits.size(); ++i)
    logits[i] = std::log(probabilities[static_cast<std::size_t>(i % vocabulary)]);
  const std::vector<float> temperature(kDraws, 1.0f), top_p(kDraws, kept.top_p);
  const std::vector<float> min_p(kDraws, kept.min_p);
  const std::vector<std::int32_t> top_k(kDraws, kept.top_k);
  const std::vector<std::uint64_t> seed(kDraws, 11);
  std::vector<std::uint64_t> offset(kDraws);
  std::iota(offset.begin(), offset.end(), std::uint64_t{0});
  test::Tensor<std::int32_t> ids(kDraws);
  test::Tensor<float> log_probability(kDraws);
  test::Tensor<unsigned char> scratch(
      static_cast<std::int64_t>(sample_scratch_bytes(kDraws, vocabulary, 1)));
  sample({logits.data(), temperature.data(), top_k.data(), top_p.data(), min_p.data(), seed.data(),
          offset.data(), ids.data(), log_probability.data(), kDraws, vocabulary},
         scratch.data(), 1);
  return {ids.data(), ids.data() + kDraws};
}

/// What one edit makes of one logit.
float edited_logit(float logit, float scale, float subtract) {
  const std::array<std::int32_t, 2> indptr = {0, 1};
  const std::int32_t id = 0, mask = -1;
  const float bias = 0;
  float y = 0;
  edit_logits({&logit, indptr.data(), &id, &bias, &scale, &subtract, &mask, &y, 1, 1, 1}, 1);
  return y;
}

TEST(WorkedExample, N23TopPKeepsTheFewestThatReachIt) {
  const std::vector<float> probabilities = {0.5f, 0.3f, 0.2f};
  EXPECT_EQ(ids_kept(probabilities, {.top_p = 0.8f}), (std::set<std::int32_t>{0, 1}));
  EXPECT_EQ(ids_kept(probabilities, {.top_p = 0.81f}), (std::set<std::int32_t>{0, 1, 2}));
}

TEST(WorkedExample, N24MinPIsAShareOfTheLargest) {
  EXPECT_EQ(ids_kept({0.5f, 0.3f, 0.2f}, {.min_p = 0.5f}), (std::set<std::int32_t>{0, 1}));
}

TEST(WorkedExample, N25MinPThenTopKThenTopP) {
  // 0.2 is exactly half of 0.4, so rounding would decide whether min_p 0.5 keeps it.
  EXPECT_EQ(ids_kept({0.4f, 0.3f, 0.2f, 0.1f}, {.min_p = 0.499f}),
            (std::set<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(ids_kept({0.4f, 0.3f, 0.2f, 0.1f}, {.top_k = 2, .top_p = 0.6f, .min_p = 0.5f}),
            (std::set<std::int32_t>{0, 1}));
  EXPECT_EQ(ids_kept({0.4f, 0.3f, 0.2f, 0.1f}, {.top_k = 2, .top_p = 0.55f, .min_p = 0.5f}),
            (std::set<std::int32_t>{0}));
}

TEST(WorkedExample, N26RepetitionPenaltyDividesPositiveAndMultipliesNegative) {
  EXPECT_EQ(edited_logit(4, 2, 0), 2.0f);
  EXPECT_EQ(edited_logit(-4, 2, 0), -8.0f);
}

TEST(WorkedExample, N27PresenceAndFrequencyAreSubtracted) {
  EXPECT_FLOAT_EQ(edited_logit(1, 1, 0.5f + 3 * 0.1f), 0.2f);
}

TEST(WorkedExample, N31GreedyTiesGoToTheLowestId) {
  std::vector<float> probabilities(10000, 1e-6f);
  probabilities[7] = probabilities[9000] = 0.4f;
  EXPECT_EQ(ids_kept(probabilities, {.top_k = 1}), (std::set<std::int32_t>{7}));
}

TEST(WorkedExample, N34AnEmptyRowOfAttentionIsZero) {
  constexpr std::int64_t kDim = 16;
  const auto q = test::normal_tensor<float>(kDim, 3);
  const auto pages = test::normal_tensor<float>(4 * kDim, 4);
  const std::vector<std::int32_t> table = {1}, indptr = {0, 1}, length = {0};
  const AttentionShape shape = {ir::Kind::f32, 1, 1, 1, kDim, 0.25f};
  test::Tensor<float> o(kDim, 7.0f);
  test::Tensor<unsigned char> scratch(static_cast<std::int64_t>(attention_scratch_bytes(shape, 1)),
                                      0xff);
  paged_attention({shape, q.data(), kDim, pages.data(), pages.data(), 2, 2, table.data(), 1,
                   indptr.data(), length.data(), 1, o.data()},
                  scratch.data(), 1);
  for (std::int64_t i = 0; i < kDim; ++i) EXPECT_EQ(o[i], 0.0f);
}

}  // namespace
}  // namespace parhelion::exec::cpu
