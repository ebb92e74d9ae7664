#include "exec/cpu/kernels/swiglu.h"

#include "support/tensor.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

template <class T>
constexpr ir::Kind kSwigluKind = sizeof(T) == 4 ? ir::Kind::f32 : ir::Kind::bf16;

double silu_double(double x) { return x / (1 + std::exp(-x)); }

/// Gate and up side by side in one matrix [rows, 2 * cols].
template <class T>
struct SwigluCase {
  std::int64_t rows;
  std::int64_t cols;
  test::Tensor<T> both = test::normal_tensor<T>(rows * cols * 2, 1, 4.0f);
  test::Tensor<T> dy = test::normal_tensor<T>(rows * cols, 2);

  double gate(std::int64_t i) const { return both.at(i / cols * 2 * cols + i % cols); }
  double up(std::int64_t i) const { return both.at(i / cols * 2 * cols + cols + i % cols); }
  Swiglu args(T* y) const {
    return {kSwigluKind<T>, both.data(), both.data() + cols, y, rows, cols, 2 * cols, 2 * cols};
  }
};

template <class T>
test::Tensor<T> run_swiglu(const SwigluCase<T>& made, int threads) {
  test::Tensor<T> y(made.rows * made.cols);
  swiglu(made.args(y.data()), threads);
  return y;
}

template <class T>
void expect_swiglu(std::int64_t rows, std::int64_t cols) {
  const SwigluCase<T> made = {rows, cols};
  const auto expected = [&](std::int64_t i) { return silu_double(made.gate(i)) * made.up(i); };
  EXPECT_TRUE(test::is_near(run_swiglu(made, 2), expected, 2 * test::tolerance<T>(1)));
}

TEST(Swiglu, MatchesDoubles) {
  test::on_each_vector_target([] {
    for (const std::int64_t cols : {0, 1, 15, 16, 33, 1536}) {
      expect_swiglu<float>(3, cols);
      expect_swiglu<BFloat16>(3, cols);
    }
  });
}

TEST(Swiglu, StaysFiniteAtTheEnds) {
  test::Tensor<float> gate(4);
  gate[0] = -200.0f;
  gate[1] = -88.5f;
  gate[2] = 200.0f;
  gate[3] = 0.0f;
  const test::Tensor<float> up(4, 2.0f);
  test::Tensor<float> y(4);
  swiglu({ir::Kind::f32, gate.data(), up.data(), y.data(), 1, 4, 4, 4}, 1);
  EXPECT_EQ(y[0], -0.0f);
  EXPECT_NEAR(y.at(1), 0.0, 1e-30);
  EXPECT_EQ(y[2], 400.0f);
  EXPECT_EQ(y[3], 0.0f);
}

TEST(Swiglu, KeepsBitsAtAnyThreadCountAndPosition) {
  test::on_each_vector_target([] {
    const SwigluCase<BFloat16> made = {90, 333};
    const auto together = run_swiglu(made, 2);
    EXPECT_TRUE(test::same_bits(together, run_swiglu(made, 1)));
    for (std::int64_t c = 0; c < 333; c += 41) {  // each column alone, so always in a tail
      test::Tensor<BFloat16> y(1);
      Swiglu one = made.args(y.data());
      one.gate = made.both.data() + c;
      one.up = made.both.data() + 333 + c;
      one.rows = one.cols = 1;
      swiglu(one, 1);
      EXPECT_TRUE(test::same_bits(y.data(), together.data() + c, 1));
    }
  });
}

template <class T>
void expect_swiglu_gradient(const SwigluCase<T>& made, int threads) {
  test::Tensor<T> grad(made.both.size());
  swiglu_grad({made.args(nullptr), made.dy.data(), grad.data(), grad.data() + made.cols}, threads);
  const auto expected = [&](std::int64_t i) {
    const std::int64_t at = i / (2 * made.cols) * made.cols + i % made.cols;
    const bool is_up = i % (2 * made.cols) >= made.cols;
    const double g = made.gate(at);
    if (is_up) return made.dy.at(at) * silu_double(g);
    const double slope = (silu_double(g + 1e-5) - silu_double(g - 1e-5)) / 2e-5;
    return made.dy.at(at) * made.up(at) * slope;
  };
  EXPECT_TRUE(test::is_near(grad, expected, 4 * test::tolerance<T>(1)));
}

TEST(SwigluGrad, MatchesFiniteDifferences) {
  test::on_each_vector_target([] {
    expect_swiglu_gradient(SwigluCase<float>{3, 37}, 1);
    expect_swiglu_gradient(SwigluCase<float>{40, 128}, 2);
    expect_swiglu_gradient(SwigluCase<BFloat16>{3, 37}, 1);
  });
}

}  // namespace
}  // namespace parhelion::exec::cpu
