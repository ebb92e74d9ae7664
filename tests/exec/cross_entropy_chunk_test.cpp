#include "exec/cpu/cpu_executor.h"
#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace parhelion::exec {
namespace {

using ir::Kind;
using ir::TensorType;
using ir::ValueId;

/// The loss of `tokens` rows of ones over a small vocabulary, with its gradients.
ir::Program loss_program(std::int64_t tokens) {
  ir::Program program;
  program.name = "loss";
  ir::Builder builder(program);
  const ValueId hidden = builder.input("hidden", TensorType(Kind::f32, {tokens, 300}));
  const ValueId weight = builder.parameter("weight", TensorType(Kind::f32, {500, 300}));
  const ValueId labels = builder.input("labels", TensorType(Kind::i32, {tokens}));
  const ValueId loss = builder.add(ir::LinearCrossEntropy{}, {hidden, weight, labels})[0];
  const ValueId total = builder.one(ir::Reduce{}, {loss});
  builder.output("loss", loss);
  ir::differentiate(program, total);
  return ir::lower(program, {});
}

/// A number of tokens and of threads. Logits exist for 64 or 256 rows at one time, so that the last
/// rows are often fewer, and a product of fewer rows may need more workspace.
class LinearCrossEntropyChunks
    : public testing::TestWithParam<std::tuple<std::int64_t, int, Weights>> {};

TEST_P(LinearCrossEntropyChunks, RunOverEveryNumberOfTokens) {
  const auto [tokens, threads, weights] = GetParam();
  for (const CpuLevel level : {CpuLevel::portable, CpuLevel::widest}) {
    const auto executor = make_cpu_executor({.threads = threads, .level = level});
    const auto plan = executor->plan(loss_program(tokens), weights);
    executor->upload("weight", [](std::span<std::byte>) {});  // zeros
    plan->run();
    const auto bytes = plan->host("loss");
    const std::span<const float> loss(reinterpret_cast<const float*>(bytes.data()),
                                      static_cast<std::size_t>(tokens));
    EXPECT_TRUE(
        std::ranges::all_of(loss, [](float each) { return std::abs(each - 6.214608f) < 1e-5f; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearCrossEntropyChunks,
                         testing::Combine(testing::Values(1, 65, 269, 275, 300, 399),
                                          testing::Values(1, 2, 3),
                                          testing::Values(Weights::frozen, Weights::trained)));

}  // namespace
}  // namespace parhelion::exec
