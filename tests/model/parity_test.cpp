#include "model/parity_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace parhelion::model {
namespace {

double norm(const std::vector<float>& a) {
  double sum = 0;
  for (const float value : a) sum += double{value} * double{value};
  return std::sqrt(sum);
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum / (norm(a) * norm(b));
}

/// Norm of the difference, relative to the norm of `b`.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::vector<float> difference(b.size());
  std::transform(a.begin(), a.end(), b.begin(), difference.begin(), std::minus<>());
  return norm(difference) / norm(b);
}

/// How far |a - b| passes absolute + relative * |b| at the worst element; no more than 0 where all
/// are near.
double excess(const std::vector<float>& a, const std::vector<float>& b, double absolute,
              double relative) {
  EXPECT_EQ(a.size(), b.size());
  double worst = -absolute;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double allowed = absolute + relative * std::abs(double{b[i]});
    worst = std::max(worst, std::abs(double{a[i]} - double{b[i]}) - allowed);
  }
  return worst;
}

class Parity : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Model, Parity, testing::ValuesIn(kGoldenModels),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(Parity, GivesLogitsOfTransformersInF32) {
  ParityRun run(GetParam(), ir::Kind::f32);
  for (const std::string example : {"packed", "single"})
    EXPECT_LE(excess(run.logits(example), run.golden("f32." + example + ".logits"), 1e-5, 1e-5), 0)
        << example;
}

TEST_P(Parity, GivesLossesOfTransformersInF32) {
  ParityRun run(GetParam(), ir::Kind::f32);
  for (const std::string example : {"packed", "single"})
    EXPECT_LE(excess(run.losses(example), run.golden("f32." + example + ".loss"), 1e-5, 1e-5), 0)
        << example;
}

TEST_P(Parity, GivesEveryGradientOfTransformersInF32) {
  ParityRun run(GetParam(), ir::Kind::f32);
  run.losses("packed");
  for (const ir::Buffer& parameter : parameters(run.model()))
    EXPECT_LE(distance(run.gradient(parameter.name), run.golden("f32.grad." + parameter.name)),
              1e-5)
        << parameter.name;
}

// Transformers rounds logits to bf16, which is coarse near 0 and far from it; ours are f32. So each
// is compared with the logits of the float32 model.
TEST_P(Parity, KeepsLogitsInBf16AsNearToF32AsTransformersDoes) {
  ParityRun run(GetParam(), ir::Kind::bf16);
  for (const std::string example : {"packed", "single"}) {
    const std::vector<float> exact = run.golden("f32." + example + ".logits");
    const std::vector<float> theirs = run.golden("bf16." + example + ".logits");
    const std::vector<float> ours = run.logits(example);
    EXPECT_LE(distance(ours, exact), 1.1 * distance(theirs, exact)) << example;
    EXPECT_LE(distance(ours, theirs), 2e-2) << example;
  }
}

TEST_P(Parity, GivesTheTotalLossOfTransformersInBf16) {
  ParityRun run(GetParam(), ir::Kind::bf16);
  const std::vector<float> weight = run.golden("packed.loss_weight");
  const std::vector<float> losses = run.golden("bf16.packed.loss");
  float expected = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) expected += losses[i] * weight[i];
  run.losses("packed");
  EXPECT_LE(excess(run.total_loss(), {expected}, 1e-3, 1e-2), 0);
}

TEST_P(Parity, GivesEveryGradientOfTransformersInBf16) {
  ParityRun run(GetParam(), ir::Kind::bf16);
  run.losses("packed");
  for (const ir::Buffer& parameter : parameters(run.model())) {
    const std::vector<float> ours = run.gradient(parameter.name);
    const std::vector<float> theirs = run.golden("bf16.grad." + parameter.name);
    EXPECT_LE(1 - cosine(ours, theirs), 0.01) << parameter.name;
    EXPECT_LE(std::abs(norm(ours) / norm(theirs) - 1), 0.05) << parameter.name;
  }
}

// Not llama_tiny: it is trained, so that its losses are small differences of logits of up to 16,
// which Transformers rounds by up to 1/32.
class RandomParity : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Model, RandomParity, testing::ValuesIn(kRandomModels),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(RandomParity, GivesLossesOfTransformersInBf16) {
  ParityRun run(GetParam(), ir::Kind::bf16);
  for (const std::string example : {"packed", "single"})
    EXPECT_LE(excess(run.losses(example), run.golden("bf16." + example + ".loss"), 1e-3, 1e-2), 0)
        << example;
}

}  // namespace
}  // namespace parhelion::model
