#include "base/bf16.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

namespace parhelion::exec::cpu {
namespace {

constexpr std::int64_t kAdamElements = 37;
constexpr std::int64_t kAdamSteps = 60;
constexpr float kAdamLr = 0.03f;

/// Gradients that are large at first, so that second moments fall below their largest.
std::vector<float> adam_gradients(std::int64_t step) {
  std::vector<float> result;
  const float size = step < 10 ? 3.0f : 0.05f;
  for (std::int64_t i = 0; i < kAdamElements; ++i)
    result.push_back(size *
                     normal(5, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(i)));
  return result;
}

/// Numbers that bf16 holds.
std::vector<float> adam_start() {
  std::vector<float> result;
  for (std::int64_t i = 0; i < kAdamElements; ++i)
    result.push_back(to_float(to_bfloat16(normal(6, 0, static_cast<std::uint64_t>(i)))));
  return result;
}

/// One parameter that an op moves step by step.
class AdamRun {
 public:
  AdamRun(const ir::AdamUpdate& op, ir::Kind kind) : op_(op) {
    ir::Program program;
    ir::Builder builder(program);
    const ir::TensorType tensor(ir::Kind::f32, {kAdamElements}), number(ir::Kind::f32, {});
    std::vector<ir::ValueId> inputs = {builder.state("p", {kind, {kAdamElements}}),
                                       builder.input("g", tensor), builder.state("m", tensor),
                                       builder.state("v", tensor)};
    if (op.amsgrad) inputs.push_back(builder.state("v_max", tensor));
    if (op.master) inputs.push_back(builder.state("w", tensor));
    inputs.push_back(builder.input("scale", number));
    inputs.push_back(builder.input("lr", number));
    inputs.push_back(builder.input("correction", {ir::Kind::f32, {2}}));
    inputs.push_back(builder.input("seed", {ir::Kind::u64, {}}));
    builder.add(op, inputs);
    plan_ = executor_->plan(program, Weights::trained);
    fill(op.master ? "w" : "p");
  }

  void run_steps() {
    for (std::int64_t step = 0; step < kAdamSteps; ++step) {
      std::ranges::copy(adam_gradients(step), host_span<float>(*plan_, "g").begin());
      host_span<float>(*plan_, "scale").front() = 1;
      host_span<float>(*plan_, "lr").front() = kAdamLr;
      const auto count = static_cast<double>(step + 1);
      const auto correction = host_span<float>(*plan_, "correction");
      correction[0] = static_cast<float>(1 / (1 - std::pow(op_.beta1, count)));
      correction[1] = static_cast<float>(1 / std::sqrt(1 - std::pow(op_.beta2, count)));
      plan_->run();
    }
  }

  template <class T>
  std::vector<T> content(std::string_view name) const {
    const auto bytes = executor_->download(name);
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }

 private:
  void fill(std::string_view name) {
    executor_->upload(name, [](std::span<std::byte> out) {
      const std::vector<float> start = adam_start();
      std::memcpy(out.data(), start.data(), out.size());
    });
  }

  ir::AdamUpdate op_;
  std::unique_ptr<Executor> executor_ = make_cpu_executor({.threads = 1});
  std::unique_ptr<Plan> plan_;
};

/// What torch.optim.Adam and AdamW do to element `i`, in double, in the order of their
/// documentation.
double torch_adam(const ir::AdamUpdate& op, std::size_t i) {
  const auto lr = static_cast<double>(kAdamLr);
  double p = static_cast<double>(adam_start()[i]), m = 0, v = 0, v_max = 0;
  for (std::int64_t step = 0; step < kAdamSteps; ++step) {
    double g = static_cast<double>(adam_gradients(step)[i]);
    if (op.decoupled) {
      p -= lr * op.weight_decay * p;
    } else {
      g += op.weight_decay * p;
    }
    m = op.beta1 * m + (1 - op.beta1) * g;
    v = op.beta2 * v + (1 - op.beta2) * g * g;
    v_max = std::max(v_max, v);
    const double m_hat = m / (1 - std::pow(op.beta1, step + 1));
    const double v_hat = (op.amsgrad ? v_max : v) / (1 - std::pow(op.beta2, step + 1));
    p -= lr * m_hat / (std::sqrt(v_hat) + op.eps);
  }
  return p;
}

TEST(AdamSteps, EqualThoseOfPyTorchInDouble) {
  for (const bool decoupled : {true, false}) {
    for (const bool amsgrad : {true, false}) {
      const ir::AdamUpdate op{
          .beta2 = 0.9, .weight_decay = 0.05, .decoupled = decoupled, .amsgrad = amsgrad};
      AdamRun run(op, ir::Kind::f32);
      run.run_steps();
      const std::vector<float> p = run.content<float>("p");
      for (std::size_t i = 0; i < p.size(); ++i)
        EXPECT_NEAR(static_cast<double>(p[i]), torch_adam(op, i), 2e-5) << "element " << i;
    }
  }
}

TEST(AdamSteps, KeepTheLargestSecondMoment) {
  const ir::AdamUpdate plain{.beta2 = 0.9};
  ir::AdamUpdate amsgrad = plain;
  amsgrad.amsgrad = true;
  AdamRun a(plain, ir::Kind::f32), b(amsgrad, ir::Kind::f32);
  a.run_steps();
  b.run_steps();
  const std::vector<float> v = b.content<float>("v"), v_max = b.content<float>("v_max");
  EXPECT_EQ(v, a.content<float>("v"));
  for (std::size_t i = 0; i < v.size(); ++i) EXPECT_GT(v_max[i], v[i]);
}

TEST(AdamSteps, MoveAMasterAsAParameterInF32) {
  for (const bool amsgrad : {true, false}) {
    const ir::AdamUpdate plain{.weight_decay = 0.05, .amsgrad = amsgrad};
    ir::AdamUpdate mastered = plain;
    mastered.master = true;
    AdamRun alone(plain, ir::Kind::f32), both(mastered, ir::Kind::bf16);
    alone.run_steps();
    both.run_steps();
    EXPECT_EQ(both.content<float>("w"), alone.content<float>("p"));
    std::vector<BFloat16> rounded;
    for (const float each : both.content<float>("w")) rounded.push_back(to_bfloat16(each));
    EXPECT_EQ(both.content<BFloat16>("p"), rounded);
  }
}

}  // namespace
}  // namespace parhelion::exec::cpu
