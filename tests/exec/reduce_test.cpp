#include "exec/cpu/kernels/reduce.h"

#include "support/tensor.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

struct ReduceCase {
  std::int64_t rows;
  std::int64_t cols;
  test::Tensor<float> x = test::normal_tensor<float>(rows * cols, 1);

  Reduce args(Reduction how, void* y) const {
    return {how, ir::Kind::f32, ir::Kind::f32, x.data(), y, rows, cols};
  }
};

/// Folds `count` elements from `first` on, `step` apart, in f64.
double reduced(const ReduceCase& made, Reduction how, std::int64_t first, std::int64_t step,
               std::int64_t count) {
  double sum = 0;
  double max = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < count; ++i) {
    sum += made.x.at(first + i * step);
    max = std::max(max, made.x.at(first + i * step));
  }
  if (how == Reduction::max) return max;
  return how == Reduction::mean ? sum / static_cast<double>(count) : sum;
}

void expect_reductions(const ReduceCase& made, Reduction how) {
  test::Tensor<float> last(made.rows);
  reduce_last(made.args(how, last.data()), 2);
  const auto row = [&](std::int64_t r) { return reduced(made, how, r * made.cols, 1, made.cols); };
  EXPECT_TRUE(test::is_near(last, row, test::tolerance<float>(made.cols)));
  test::Tensor<float> first(made.cols);
  reduce_first(made.args(how, first.data()), 2);
  const auto column = [&](std::int64_t c) { return reduced(made, how, c, made.cols, made.rows); };
  EXPECT_TRUE(test::is_near(first, column, test::tolerance<float>(made.rows)));
}

TEST(Reduce, MatchesDoublesOverBothDims) {
  test::on_each_vector_target([] {
    for (const Reduction how : {Reduction::sum, Reduction::mean, Reduction::max}) {
      expect_reductions({1, 1}, how);
      expect_reductions({3, 17}, how);
      expect_reductions({300, 65}, how);
      expect_reductions({5, 5000}, how);
    }
  });
}

TEST(Reduce, GivesEmptySumsAndMaxima) {
  const ReduceCase made = {2, 0};
  test::Tensor<float> y(2, 7.0f);
  reduce_last(made.args(Reduction::sum, y.data()), 1);
  EXPECT_EQ(y[0], 0.0f);
  reduce_last(made.args(Reduction::max, y.data()), 1);
  EXPECT_EQ(y[1], -std::numeric_limits<float>::infinity());
}

TEST(Reduce, KeepsBitsAtAnyThreadCountAndVectorWidth) {
  const ReduceCase made = {513, 331};
  test::Tensor<float> one(513);
  test::Tensor<float> two(513);
  reduce_last(made.args(Reduction::sum, one.data()), 1);
  hwy::SetSupportedTargetsForTest(HWY_AVX2);
  reduce_last(made.args(Reduction::sum, two.data()), 2);
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_TRUE(test::same_bits(one, two));
}

TEST(Reduce, RoundsToItsOutput) {
  const auto x = test::normal_tensor<BFloat16>(4 * 100, 3);
  test::Tensor<BFloat16> y(4);
  reduce_last({Reduction::sum, ir::Kind::bf16, ir::Kind::bf16, x.data(), y.data(), 4, 100}, 1);
  test::Tensor<float> exact(4);
  reduce_last({Reduction::sum, ir::Kind::bf16, ir::Kind::f32, x.data(), exact.data(), 4, 100}, 1);
  for (std::int64_t r = 0; r < 4; ++r) EXPECT_EQ(y[r].bits, to_bfloat16(exact[r]).bits);
}

TEST(AccumulateRows, AddsTheFoldedRows) {
  test::on_each_vector_target([] {
    const auto dy = test::normal_tensor<BFloat16>(700 * 67, 4);
    const Reduce args = {
        Reduction::sum, ir::Kind::bf16, ir::Kind::f32, dy.data(), nullptr, 700, 67};
    test::Tensor<float> acc(67, 0.5f);
    accumulate_rows(args, acc.data(), 2);
    const auto expected = [&](std::int64_t c) {
      double sum = 0.5;
      for (std::int64_t r = 0; r < 700; ++r) sum += dy.at(r * 67 + c);
      return sum;
    };
    EXPECT_TRUE(test::is_near(acc, expected, test::tolerance<float>(700)));
    test::Tensor<float> again(67, 0.5f);
    accumulate_rows(args, again.data(), 1);
    EXPECT_TRUE(test::same_bits(acc, again));
  });
}

TEST(Broadcast, RepeatsRowsAndDividesForTheMean) {
  const auto x = test::normal_tensor<float>(3, 4);
  test::Tensor<float> y(3 * 7);
  broadcast_last({Reduction::sum, x.data(), y.data(), 3, 7}, 2);
  for (std::int64_t i = 0; i < 21; ++i) EXPECT_EQ(y[i], x[i / 7]);
  broadcast_last({Reduction::mean, x.data(), y.data(), 3, 7}, 2);
  for (std::int64_t i = 0; i < 21; ++i) EXPECT_EQ(y[i], x[i / 7] / 7.0f);
}

}  // namespace
}  // namespace parhelion::exec::cpu
