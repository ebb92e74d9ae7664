#include "exec/cpu/kernels/elementwise.h"

#include "base/error.h"
#include "support/tensor.h"
#include "support/vector_targets.h"

namespace parhelion::exec::cpu {
namespace {

constexpr std::int64_t kCounts[] = {0, 1, 15, 16, 17, 40000};

template <class T>
constexpr ir::Kind kElementKind = sizeof(T) == 4 ? ir::Kind::f32 : ir::Kind::bf16;

template <class T>
void expect_binary(std::int64_t count) {
  const auto a = test::normal_tensor<T>(count, 1);
  const auto b = test::normal_tensor<T>(count, 2);
  test::Tensor<T> y(count);
  add({kElementKind<T>, a.data(), b.data(), y.data(), count}, 2);
  const auto sum = [&](std::int64_t i) {
    return test::value_of(
        test::stored<T>(static_cast<float>(a.at(i)) + static_cast<float>(b.at(i))));
  };
  EXPECT_TRUE(test::is_near(y, sum, 0));
  multiply({kElementKind<T>, a.data(), b.data(), y.data(), count}, 2);
  const auto product = [&](std::int64_t i) {
    return test::value_of(
        test::stored<T>(static_cast<float>(a.at(i)) * static_cast<float>(b.at(i))));
  };
  EXPECT_TRUE(test::is_near(y, product, 0));
}

TEST(Elementwise, AddsAndMultipliesWithOneRounding) {
  test::on_each_vector_target([] {
    for (const std::int64_t count : kCounts) {
      expect_binary<float>(count);
      expect_binary<BFloat16>(count);
    }
  });
}

template <class T>
void expect_unary(std::int64_t count) {
  const auto x = test::normal_tensor<T>(count, 1, 3.0f);
  test::Tensor<T> y(count);
  silu({kElementKind<T>, x.data(), y.data(), count}, 2);
  const auto activated = [&](std::int64_t i) { return x.at(i) / (1 + std::exp(-x.at(i))); };
  EXPECT_TRUE(test::is_near(y, activated, test::tolerance<T>(1)));
  const float factor = 0.3f;
  scale({kElementKind<T>, x.data(), y.data(), count}, factor, 2);
  const auto scaled = [&](std::int64_t i) {
    return test::value_of(test::stored<T>(static_cast<float>(x.at(i)) * factor));
  };
  EXPECT_TRUE(test::is_near(y, scaled, 0));
}

TEST(Elementwise, ActivatesAndScales) {
  test::on_each_vector_target([] {
    for (const std::int64_t count : kCounts) {
      expect_unary<float>(count);
      expect_unary<BFloat16>(count);
    }
  });
}

TEST(Elementwise, CastsToTheNearestBf16) {
  test::on_each_vector_target([] {
    const auto x = test::normal_tensor<float>(1003, 5);
    test::Tensor<BFloat16> y(1003);
    cast({ir::Kind::f32, ir::Kind::bf16, x.data(), y.data(), 1003}, 1);
    for (std::int64_t i = 0; i < 1003; ++i) ASSERT_EQ(y[i].bits, to_bfloat16(x[i]).bits);
    test::Tensor<float> back(1003);
    cast({ir::Kind::bf16, ir::Kind::f32, y.data(), back.data(), 1003}, 1);
    for (std::int64_t i = 0; i < 1003; ++i) ASSERT_EQ(back[i], to_float(y[i]));
  });
}

TEST(Elementwise, CastsTiesInfinityAndNan) {
  test::on_each_vector_target([] {
    test::Tensor<float> x(4);
    x[0] = 1.0f + 0x1p-8f;  // a tie, to even
    x[1] = 1.0f + 0x3p-8f;  // a tie, to even
    x[2] = std::numeric_limits<float>::infinity();
    x[3] = std::numeric_limits<float>::quiet_NaN();
    test::Tensor<BFloat16> y(4);
    cast({ir::Kind::f32, ir::Kind::bf16, x.data(), y.data(), 4}, 1);
    EXPECT_EQ(to_float(y[0]), 1.0f);
    EXPECT_EQ(to_float(y[1]), 1.0f + 0x1p-6f);
    EXPECT_EQ(to_float(y[2]), x[2]);
    EXPECT_TRUE(std::isnan(to_float(y[3])));
  });
}

TEST(Elementwise, AccumulatesInF32) {
  test::on_each_vector_target([] {
    const auto x = test::normal_tensor<BFloat16>(40001, 5);
    test::Tensor<float> acc(40001, 1.5f);
    accumulate(ir::Kind::bf16, x.data(), acc.data(), 40001, 2);
    for (std::int64_t i = 0; i < 40001; ++i) ASSERT_EQ(acc[i], 1.5f + to_float(x[i]));
  });
}

TEST(Elementwise, FillsWithTheStoredValue) {
  test::Tensor<float> y(40001);
  fill(ir::Kind::f32, 0.1f, y.data(), 40001, 2);
  EXPECT_TRUE(test::same_bits(y, test::Tensor<float>(40001, 0.1f)));
  test::Tensor<BFloat16> small(3);
  fill(ir::Kind::bf16, 0.1f, small.data(), 3, 2);
  EXPECT_TRUE(test::same_bits(small, test::Tensor<BFloat16>(3, to_bfloat16(0.1f))));
}

TEST(Elementwise, RefusesOtherKindsByName) {
  try {
    add({ir::Kind::i32, nullptr, nullptr, nullptr, 0}, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bug);
    EXPECT_STREQ(error.what(), "cpu kernel: storage is i32, expected f32 or bf16");
  }
}

}  // namespace
}  // namespace parhelion::exec::cpu
