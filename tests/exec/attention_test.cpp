#include "exec/attention_case.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

template <class T>
void expect_reference(const AttentionCase<T>& made, const AttentionResult<T>& result) {
  const AttentionShape& shape = made.shape;
  const double bound = test::tolerance<T>(shape.d + 300);
  for (std::size_t document = 0; document + 1 < made.indptr.size(); ++document) {
    const std::int64_t begin = made.indptr[document];
    const std::int64_t end = made.indptr[document + 1];
    for (std::int64_t row = begin * shape.query_heads; row < end * shape.query_heads; ++row) {
      const auto want =
          attention_reference(made, begin, end, row / shape.query_heads, row % shape.query_heads);
      ASSERT_NEAR(result.lse.at(row), want.back(), bound * std::max(1.0, std::abs(want.back())));
      for (std::int64_t c = 0; c < shape.d; ++c) {
        const double expected = want[static_cast<std::size_t>(c)];
        ASSERT_NEAR(result.o.at(row * shape.d + c), expected,
                    bound * std::max(1.0, std::abs(expected)))
            << "row " << row << " column " << c;
      }
    }
  }
}

TEST(Attention, MatchesDoubles) {
  test::on_each_vector_target([] {
    for (const AttentionHeads heads :
         {AttentionHeads{9, 3, 64}, {4, 2, 16}, {4, 4, 80}, {2, 1, 128}, {3, 1, 6}}) {
      const auto made = attention_case<float>(heads, {1, 5, 130, 23}, 0, 11);
      expect_reference(made, run_attention(made, 2));
    }
  });
}

TEST(Attention, MatchesDoublesInBf16) {
  test::on_each_vector_target([] {
    const auto made = attention_case<BFloat16>({9, 3, 64}, {40, 133}, 0, 12);
    expect_reference(made, run_attention(made, 1));
  });
}

TEST(Attention, SeesOnlyItsWindow) {
  auto made = attention_case<float>({4, 2, 16}, {3, 300}, 0, 13);
  for (const std::int64_t window : {1, 7, 128, 150, 1000}) {
    made.shape.window = window;
    expect_reference(made, run_attention(made, 2));
  }
}

TEST(Attention, SeesLaterTokensUnlessCausal) {
  auto made = attention_case<float>({4, 2, 16}, {3, 140}, 0, 14);
  made.shape.causal = false;
  expect_reference(made, run_attention(made, 2));
}

TEST(Attention, ZeroesTokensOfNoDocument) {
  const auto made = attention_case<float>({4, 2, 16}, {0, 5, 0}, 3, 15);
  const auto result = run_attention(made, 1);
  expect_reference(made, result);
  for (std::int64_t i = 5 * 4 * 16; i < result.o.size(); ++i) EXPECT_EQ(result.o[i], 0.0f);
  for (std::int64_t i = 5 * 4; i < result.lse.size(); ++i) EXPECT_EQ(result.lse[i], 0.0f);
}

TEST(Attention, AcceptsNoTokens) {
  const auto made = attention_case<float>({4, 2, 16}, {}, 0, 15);
  EXPECT_EQ(run_attention(made, 2).o.size(), 0);
}

TEST(Attention, KeepsBitsAtAnyThreadCount) {
  const auto made = attention_case<float>({9, 3, 64}, {200, 1, 77}, 4, 16);
  const auto one = run_attention(made, 1);
  for (const int threads : {2, 3, 8}) {
    const auto many = run_attention(made, threads);
    EXPECT_TRUE(test::same_bits(one.o, many.o));
    EXPECT_TRUE(test::same_bits(one.lse, many.lse));
  }
}

/// The same documents, all but one dropped.
template <class T>
AttentionCase<T> only_document(const AttentionCase<T>& made, std::size_t document) {
  const std::int64_t begin = made.indptr[document];
  const std::int64_t length = made.indptr[document + 1] - begin;
  auto alone = attention_case<T>({made.shape.query_heads, made.shape.kv_heads, made.shape.d},
                                 {length}, 0, 0);
  const std::int64_t q_row = made.shape.query_heads * made.shape.d;
  const std::int64_t kv_row = made.shape.kv_heads * made.shape.d;
  std::copy_n(made.q.data() + begin * q_row, length * q_row, alone.q.data());
  std::copy_n(made.k.data() + begin * kv_row, length * kv_row, alone.k.data());
  std::copy_n(made.v.data() + begin * kv_row, length * kv_row, alone.v.data());
  return alone;
}

TEST(Attention, GivesADocumentItsBitsAlone) {
  test::on_each_vector_target([] {
    const auto made = attention_case<BFloat16>({9, 3, 64}, {13, 150, 29}, 2, 17);
    const auto together = run_attention(made, 2);
    for (std::size_t document = 0; document < 3; ++document) {
      const auto alone = run_attention(only_document(made, document), 1);
      const std::int64_t at = made.indptr[document] * std::int64_t{9 * 64};
      EXPECT_TRUE(test::same_bits(together.o.data() + at, alone.o.data(), alone.o.size()));
    }
  });
}

TEST(Attention, KeepsLaterTokensOutOfEarlierOnes) {
  auto made = attention_case<float>({9, 3, 64}, {150}, 0, 18);
  const auto clean = run_attention(made, 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t token : {149, 140, 128, 70, 3}) {
    std::fill_n(made.v.data() + token * 3 * 64, 3 * 64, nan);
    std::fill_n(made.k.data() + token * 3 * 64, 3 * 64, nan);
    const auto poisoned = run_attention(made, 1);
    EXPECT_TRUE(test::same_bits(clean.o.data(), poisoned.o.data(), token * 9 * 64));
    EXPECT_TRUE(std::isnan(poisoned.o[token * 9 * 64]));
  }
}

}  // namespace
}  // namespace parhelion::exec::cpu
