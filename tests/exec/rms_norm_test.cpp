#include "exec/cpu/kernels/rms_norm.h"

#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/rms_norm_grad.h"
#include "support/tensor.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

constexpr float kEps = 1e-5f;

template <class T>
constexpr ir::Kind kKind = sizeof(T) == 4 ? ir::Kind::f32 : ir::Kind::bf16;

template <class T>
struct RmsNormCase {
  std::int64_t rows;
  std::int64_t cols;
  test::Tensor<T> x = test::normal_tensor<T>(rows * cols, 1, 2.0f);
  test::Tensor<T> w = test::normal_tensor<T>(cols, 2);
  test::Tensor<T> dy = test::normal_tensor<T>(rows * cols, 3);

  double rstd(std::int64_t r) const {
    double sum = 0;
    for (std::int64_t c = 0; c < cols; ++c) sum += x.at(r * cols + c) * x.at(r * cols + c);
    return 1 / std::sqrt(sum / static_cast<double>(cols) + static_cast<double>(kEps));
  }
};

template <class T>
test::Tensor<T> run_rms_norm(const RmsNormCase<T>& made, int threads) {
  test::Tensor<T> y(made.rows * made.cols);
  rms_norm({kKind<T>, made.x.data(), made.w.data(), y.data(), made.rows, made.cols, kEps}, threads);
  return y;
}

template <class T>
void expect_doubles(std::int64_t rows, std::int64_t cols) {
  const RmsNormCase<T> made = {rows, cols};
  const auto expected = [&](std::int64_t i) {
    return made.x.at(i) * made.rstd(i / cols) * made.w.at(i % cols);
  };
  EXPECT_TRUE(test::is_near(run_rms_norm(made, 2), expected, 2 * test::tolerance<T>(cols)))
      << rows << " x " << cols;
}

TEST(RmsNorm, MatchesDoubles) {
  test::on_each_vector_target([] {
    for (const std::int64_t cols : {1, 3, 16, 63, 64, 65, 127, 576, 1030}) {
      expect_doubles<float>(3, cols);
      expect_doubles<BFloat16>(3, cols);
    }
    expect_doubles<float>(0, 64);
    expect_doubles<float>(2, 0);
  });
}

TEST(RmsNorm, RoundsTheNormalisedValueBeforeTheWeight) {
  RmsNormCase<BFloat16> made = {1, 2};
  made.x[0] = to_bfloat16(1.0f);
  made.x[1] = to_bfloat16(3.0f);  // rstd is 0.44721, x * rstd is 1.34164, in bf16 1.34375
  made.w[0] = made.w[1] = to_bfloat16(1.015625f);
  const auto y = run_rms_norm(made, 1);
  EXPECT_EQ(to_float(y[1]), to_float(to_bfloat16(1.015625f * 1.34375f)));
  EXPECT_NE(to_float(y[1]), to_float(to_bfloat16(1.015625f * 1.34164f)));
}

TEST(RmsNorm, GivesARowItsBitsAloneAndAtAnyThreadCount) {
  test::on_each_vector_target([] {
    const RmsNormCase<BFloat16> made = {70, 577};
    const auto together = run_rms_norm(made, 2);
    EXPECT_TRUE(test::same_bits(together, run_rms_norm(made, 1)));
    for (const std::int64_t row : {0, 1, 33, 69}) {
      RmsNormCase<BFloat16> alone = {1, 577};
      std::copy_n(made.x.data() + row * 577, 577, alone.x.data());
      EXPECT_TRUE(test::same_bits(run_rms_norm(alone, 1).data(), together.data() + row * 577, 577));
    }
  });
}

TEST(RmsNorm, HasOneResultOnEveryVectorWidth) {
  const RmsNormCase<float> made = {5, 577};
  hwy::SetSupportedTargetsForTest(HWY_AVX2);
  const auto narrow = run_rms_norm(made, 1);
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_TRUE(test::same_bits(narrow, run_rms_norm(made, 1)));
}

template <class T>
void expect_composition(std::int64_t rows, std::int64_t cols) {
  RmsNormCase<T> made = {rows, cols};
  const auto r = test::normal_tensor<T>(rows * cols, 7);
  test::Tensor<T> s(rows * cols);
  test::Tensor<T> y(rows * cols);
  add_rms_norm(
      {{kKind<T>, made.x.data(), made.w.data(), y.data(), rows, cols, kEps}, r.data(), s.data()},
      2);
  add({kKind<T>, made.x.data(), r.data(), made.x.data(), rows * cols}, 1);
  EXPECT_TRUE(test::same_bits(s, made.x));
  EXPECT_TRUE(test::same_bits(y, run_rms_norm(made, 1)));
}

TEST(AddRmsNorm, HasTheBitsOfItsComposition) {
  test::on_each_vector_target([] {
    for (const std::int64_t cols : {1, 17, 64, 577}) {
      expect_composition<float>(40, cols);
      expect_composition<BFloat16>(40, cols);
    }
  });
}

/// The loss sum(dy * y) of one row in f64, with x[c] moved by `step`.
double moved_loss(const RmsNormCase<float>& made, std::int64_t row, std::int64_t c, double step) {
  double sum = 0;
  double loss = 0;
  for (int pass = 0; pass < 2; ++pass) {
    const double rstd =
        1 / std::sqrt(sum / static_cast<double>(made.cols) + static_cast<double>(kEps));
    for (std::int64_t i = 0; i < made.cols; ++i) {
      const double x = made.x.at(row * made.cols + i) + (i == c ? step : 0);
      if (pass == 0) sum += x * x;
      if (pass == 1) loss += made.dy.at(row * made.cols + i) * made.w.at(i) * x * rstd;
    }
  }
  return loss;
}

TEST(RmsNormGrad, MatchesFiniteDifferences) {
  test::on_each_vector_target([] {
    for (const std::int64_t cols : {1, 5, 64, 130}) {
      const RmsNormCase<float> made = {3, cols};
      test::Tensor<float> dx(3 * cols);
      rms_norm_grad(
          {ir::Kind::f32, made.x.data(), made.w.data(), made.dy.data(), dx.data(), 3, cols, kEps},
          2);
      const auto expected = [&](std::int64_t i) {
        const double up = moved_loss(made, i / cols, i % cols, 1e-5);
        return (up - moved_loss(made, i / cols, i % cols, -1e-5)) / 2e-5;
      };
      EXPECT_TRUE(test::is_near(dx, expected, 2 * test::tolerance<float>(cols)));
    }
  });
}

TEST(RmsNormGrad, RoundsOnceInBf16) {
  const RmsNormCase<BFloat16> made = {3, 577};
  test::Tensor<BFloat16> dx(3 * 577);
  rms_norm_grad(
      {ir::Kind::bf16, made.x.data(), made.w.data(), made.dy.data(), dx.data(), 3, 577, kEps}, 1);
  const auto expected = [&](std::int64_t i) {
    const std::int64_t row = i / 577 * 577;
    const double rstd = made.rstd(i / 577);
    double dot = 0;
    for (std::int64_t c = 0; c < 577; ++c) {
      dot += made.dy.at(row + c) * made.w.at(c) * made.x.at(row + c) / 577;
    }
    return rstd * (made.dy.at(i) * made.w.at(i % 577) - made.x.at(i) * rstd * rstd * dot);
  };
  EXPECT_TRUE(test::is_near(dx, expected, test::tolerance<BFloat16>(577)));
}

template <class T>
test::Tensor<float> run_weight_grad(const RmsNormCase<T>& made, int threads) {
  test::Tensor<float> acc(made.cols, 0.5f);
  test::Tensor<unsigned char> scratch(
      static_cast<std::int64_t>(rms_norm_weight_grad_scratch_bytes(made.rows)));
  rms_norm_weight_grad(
      {kKind<T>, made.x.data(), made.dy.data(), acc.data(), made.rows, made.cols, kEps},
      scratch.data(), threads);
  return acc;
}

TEST(RmsNormWeightGrad, AddsTheSumOverRows) {
  test::on_each_vector_target([] {
    const RmsNormCase<float> made = {600, 67};
    const auto acc = run_weight_grad(made, 2);
    const auto expected = [&](std::int64_t c) {
      double sum = 0.5;
      for (std::int64_t r = 0; r < 600; ++r) {
        sum += made.dy.at(r * 67 + c) * made.x.at(r * 67 + c) * made.rstd(r);
      }
      return sum;
    };
    EXPECT_TRUE(test::is_near(acc, expected, 4 * test::tolerance<float>(600)));
    EXPECT_TRUE(test::same_bits(acc, run_weight_grad(made, 1)));
  });
}

TEST(RmsNormWeightGrad, KeepsBitsAtAnyThreadCountInBf16) {
  const RmsNormCase<BFloat16> made = {300, 577};
  EXPECT_TRUE(test::same_bits(run_weight_grad(made, 1), run_weight_grad(made, 3)));
}

}  // namespace
}  // namespace parhelion::exec::cpu
