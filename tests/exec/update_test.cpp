#include "exec/cpu/kernels/update.h"

#include "base/bf16.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/kernels/step.h"
#include "ir/builder.h"
#include "support/vector_targets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace parhelion::exec::cpu {
namespace {

/// What SGD with a gradient of 0 does to `value`: it is rounded and nothing else.
std::vector<BFloat16> drawn_copies(float gradient, std::int64_t count, std::uint64_t seed,
                                   int threads) {
  std::vector<BFloat16> p(static_cast<std::size_t>(count), to_bfloat16(1.0f));
  const std::vector<float> g(static_cast<std::size_t>(count), gradient);
  const float one = 1.0f;
  sgd_update({.op = {.rounding = ir::Rounding::stochastic, .tag = 4},
              .kind = ir::Kind::bf16,
              .p = p.data(),
              .g = g.data(),
              .scale = &one,
              .lr = &one,
              .gain = &one,
              .seed = &seed,
              .count = count},
             threads);
  return p;
}

TEST(StochasticRounding, KeepsTheMeanOfWhatItRounds) {
  constexpr std::int64_t kCount = 1 << 21;
  const float step = -0.3f * 0x1p-7f;  // 1 moves up by 0.3 of a bf16 step
  const std::vector<BFloat16> drawn = drawn_copies(step, kCount, 11, 2);
  double sum = 0;
  for (const BFloat16 each : drawn) sum += static_cast<double>(to_float(each));
  EXPECT_NEAR(sum / static_cast<double>(kCount), 1.0 + 0.3 * 0x1p-7, 2e-5);
}

TEST(StochasticRounding, DrawsWhatSeedTagAndElementSay) {
  const float step = -0.3f * 0x1p-7f;
  const std::vector<BFloat16> drawn = drawn_copies(step, 5000, 11, 1);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const bool up = noise16(11, 4, i) + std::lround(0.3 * 65536) >= 65536;
    ASSERT_EQ(to_float(drawn[i]), up ? 1.0f + 0x1p-7f : 1.0f) << "element " << i;
  }
  EXPECT_EQ(drawn_copies(step, 5000, 11, 2), drawn);
  EXPECT_NE(drawn_copies(step, 5000, 12, 1), drawn);
}

TEST(StochasticRounding, KeepsWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const BFloat16 each : drawn_copies(nan, 3000, 11, 1))
    ASSERT_TRUE(std::isnan(to_float(each)));
  for (const BFloat16 each : drawn_copies(infinity, 3000, 11, 1))
    ASSERT_EQ(to_float(each), -infinity);
}

TEST(StochasticRounding, GivesTheSameBitsAtEveryVectorWidth) {
  const std::vector<BFloat16> widest = drawn_copies(-0.7f * 0x1p-7f, 5000, 11, 1);
  test::on_each_vector_target(
      [&] { EXPECT_EQ(drawn_copies(-0.7f * 0x1p-7f, 5000, 11, 1), widest); });
}

TEST(SquaredNorm, AddsBlocksInOrderWhateverTheThreads) {
  std::vector<float> x(100'003);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = normal(3, 0, i);
  std::vector<float> blocks(static_cast<std::size_t>(squared_norm_blocks(100'003)));
  const float one = squared_norm(x.data(), 100'003, blocks.data(), 1);
  EXPECT_EQ(squared_norm(x.data(), 100'003, blocks.data(), 2), one);
  EXPECT_NEAR(one, std::inner_product(x.begin(), x.end(), x.begin(), 0.0), 0.1);
}

TEST(Gate, KeepsTheBytesWhereItIsFalse) {
  ir::Program program;
  ir::Builder builder(program);
  const ir::TensorType type(ir::Kind::f32, {3});
  const ir::ValueId x = builder.input("x", type);
  builder.set_gate(builder.input("gate", ir::TensorType(ir::Kind::bool8, {})));
  builder.one(ir::Accumulate{}, {x, builder.state("sum", type)});
  const auto executor = make_cpu_executor({.threads = 1});
  const auto plan = executor->plan(program, Weights::frozen);
  const auto run = [&](bool gate) {
    reinterpret_cast<float*>(plan->host("x").data())[1] = 2.5f;
    plan->host("gate")[0] = std::byte{gate};
    plan->run();
    return reinterpret_cast<const float*>(executor->download("sum").data())[1];
  };
  EXPECT_EQ(run(true), 2.5f);
  EXPECT_EQ(run(false), 2.5f);
  EXPECT_EQ(run(true), 5.0f);
}

}  // namespace
}  // namespace parhelion::exec::cpu
