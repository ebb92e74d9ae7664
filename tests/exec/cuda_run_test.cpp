#include "base/error.h"
#include "exec/cuda/cuda_executor.h"
#include "exec/cuda_calls.h"
#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"
#include "support/conformance/loss_programs.h"
#include "support/conformance/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cuda_runtime_api.h>
#include <numeric>

namespace parhelion::exec {
namespace {

using test::calls_of;
using test::CudaCalls;

constexpr std::int64_t kRuns = 100;

/// A program with its buffers, lowered.
struct RunCase {
  std::string name;
  ir::Program instance;
  test::NamedWide buffers;
  Weights weights;
};

RunCase serving_case(ir::Kind kind) {
  const test::FilledProgram made = test::extend_program(kind);
  return {.name = "serving",
          .instance = ir::lower(made.program, made.capacities),
          .buffers = made.buffers,
          .weights = Weights::frozen};
}

RunCase training_case(ir::Kind kind) {
  test::LossProgram made = test::decoder_program(kind);
  ir::differentiate(made.program, made.loss);
  return {.name = "training",
          .instance = ir::lower(made.program, made.capacities),
          .buffers = made.buffers,
          .weights = Weights::trained};
}

std::vector<RunCase> run_cases() {
  std::vector<RunCase> result;
  for (const ir::Kind kind : {ir::Kind::f32, ir::Kind::bf16}) {
    result.push_back(serving_case(kind));
    result.push_back(training_case(kind));
  }
  return result;
}

std::size_t free_device_bytes() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return free;
}

/// Outputs of the last run, and all buffers that outlive it.
test::NamedWide contents_of(Executor& executor, Plan& plan) {
  test::NamedWide result;
  for (const ir::Buffer& buffer : plan.instance().buffers) {
    if (buffer.role == ir::Role::output)
      result[buffer.name] = test::from_bytes(buffer.type, plan.host(buffer.name));
    if (buffer.role == ir::Role::state || buffer.role == ir::Role::parameter)
      result[buffer.name] = test::from_bytes(buffer.type, executor.download(buffer.name));
  }
  return result;
}

void expect_same_tensors(const test::NamedWide& actual, const test::NamedWide& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, tensor] : expected)
    EXPECT_TRUE(test::same_bits(actual.at(name), tensor)) << name;
}

TEST(CudaRun, PlansByCallsThatAreCounted) {
  const RunCase each = training_case(ir::Kind::bf16);
  const auto executor = make_cuda_executor({});
  std::unique_ptr<Plan> plan;
  const CudaCalls calls = calls_of([&] { plan = executor->plan(each.instance, each.weights); });
  EXPECT_GT(calls.allocations, 0);
  EXPECT_GT(calls.choices, 0);
  EXPECT_GT(calls.launches, 0);
  EXPECT_GT(calls.memory_sets, 0);
  EXPECT_GT(calls.other_waits, 0);
}

TEST(CudaRun, CopiesAndLaunchesOneGraphAndNothingElse) {
  for (const Numerics numerics : {Numerics::exact, Numerics::invariant, Numerics::fast}) {
    for (const RunCase& each : run_cases()) {
      SCOPED_TRACE(fmt::format("{}, {}", each.name, name(numerics)));
      const auto executor = make_cuda_executor({.numerics = numerics});
      const auto plan = executor->plan(each.instance, each.weights);
      test::run_instance(*executor, *plan, each.buffers);
      const std::size_t free = free_device_bytes();
      const CudaCalls calls = calls_of([&] {
        for (std::int64_t i = 0; i < kRuns; ++i) plan->run();
      });
      EXPECT_EQ(calls,
                (CudaCalls{.copies = 2 * kRuns, .graph_launches = kRuns, .event_waits = kRuns}));
      EXPECT_EQ(free_device_bytes(), free);
    }
  }
}

TEST(CudaRun, StartsWithoutWaiting) {
  const RunCase each = serving_case(ir::Kind::bf16);
  const auto executor = make_cuda_executor({});
  const auto plan = executor->plan(each.instance, each.weights);
  test::run_instance(*executor, *plan, each.buffers);
  const CudaCalls calls = calls_of([&] {
    for (std::int64_t i = 0; i < kRuns; ++i) plan->start();
  });
  EXPECT_EQ(calls, (CudaCalls{.copies = 2 * kRuns, .graph_launches = kRuns}));
  plan->wait();
}

TEST(CudaRun, TellsTheLaunchesOfEachKernel) {
  for (const RunCase& each : run_cases()) {
    const auto executor = make_cuda_executor({.numerics = Numerics::fast});
    const auto plan = executor->plan(each.instance, each.weights);
    std::int64_t ops = 0, launches = 0;
    for (const StepReport& step : plan->steps()) {
      EXPECT_TRUE(step.op_count > 0 || step.launches == 0) << step.kernel;
      ops += step.op_count;
      launches += step.launches;
    }
    EXPECT_EQ(ops, std::ssize(each.instance.ops)) << each.name;
    EXPECT_GT(launches, 0);
  }
}

/// State of 64 MiB beside a program, so that its release shows.
constexpr std::int64_t kLargeState = std::int64_t{1} << 24;

ir::Program large_state_program() {
  ir::Program program;
  program.name = "large";
  ir::Builder builder(program);
  const ir::ValueId x = builder.state("large", {ir::Kind::f32, {kLargeState}});
  builder.output("sum", builder.one(ir::Reduce{ir::ReduceFunction::sum}, {x}));
  return ir::lower(program, {});
}

/// The large state grows by one in each run; another state stays as it is.
ir::Program growing_state_program() {
  ir::Program program;
  program.name = "growing";
  ir::Builder builder(program);
  const ir::TensorType type(ir::Kind::f32, {kLargeState});
  const ir::ValueId one = builder.state("one", type);
  builder.one(ir::Accumulate{}, {one, builder.state("large", type)});
  return ir::lower(program, {});
}

std::vector<float> kept_values(KeptBuffers& kept, std::string_view name) {
  std::vector<float> values(static_cast<std::size_t>(kLargeState));
  kept.copy_out(name, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(CudaKeep, HoldsWhatWasThereWhileRunsGoOn) {
  const std::vector<std::string> names = {"large", "one"};
  const auto executor = make_cuda_executor({});
  const auto plan = executor->plan(growing_state_program(), Weights::frozen);
  executor->upload("one", [](std::span<std::byte> bytes) {
    for (float& value : std::span(reinterpret_cast<float*>(bytes.data()), kLargeState)) value = 1;
  });
  EXPECT_EQ(executor->keep(names), nullptr) << "room is made by prepare_snapshots alone";
  executor->prepare_snapshots(2 * kLargeState * std::int64_t{sizeof(float)});
  float grown = 0;
  for (int i = 0; i < 3; ++i) {
    for (int run = 0; run < 5; ++run) plan->start();
    grown += 5;
    std::unique_ptr<KeptBuffers> kept;
    const CudaCalls calls = calls_of([&] { kept = executor->keep(names); });
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(calls.allocations, 0);
    EXPECT_EQ(executor->keep(names), nullptr) << "the room is taken";
    for (int run = 0; run < 5; ++run) plan->start();
    EXPECT_EQ(kept_values(*kept, "large"),
              std::vector<float>(static_cast<std::size_t>(kLargeState), grown));
    EXPECT_EQ(kept_values(*kept, "one"),
              std::vector<float>(static_cast<std::size_t>(kLargeState), 1.0f));
    grown += 5;
  }
  plan->wait();
  EXPECT_THROW(executor->keep(std::vector<std::string>{"none"}), Error);
}

TEST(CudaSleep, GivesMemoryBackUntilItWakes) {
  const auto executor = make_cuda_executor({});
  const auto plan = executor->plan(large_state_program(), Weights::frozen);
  executor->upload("large",
                   [](std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{0x3c}); });
  plan->run();
  const test::NamedWide contents = contents_of(*executor, *plan);
  for (int i = 0; i < 3; ++i) {
    const std::size_t awake = free_device_bytes();
    executor->sleep();
    const std::size_t asleep = free_device_bytes();
    executor->wake();
    EXPECT_GE(asleep, awake + sizeof(float) * kLargeState);
    EXPECT_LE(free_device_bytes(), asleep - sizeof(float) * kLargeState);
    plan->run();
    expect_same_tensors(contents_of(*executor, *plan), contents);
  }
}

TEST(CudaSleep, KeepsBitsAndGraphs) {
  for (const RunCase& each : run_cases()) {
    SCOPED_TRACE(each.name);
    const auto executor = make_cuda_executor({});
    const auto plan = executor->plan(each.instance, each.weights);
    const test::NamedWide results = test::run_instance(*executor, *plan, each.buffers);
    const test::NamedWide contents = contents_of(*executor, *plan);
    executor->sleep();
    executor->wake();
    expect_same_tensors(contents_of(*executor, *plan), contents);
    expect_same_tensors(test::run_instance(*executor, *plan, each.buffers), results);
  }
}

TEST(CudaExecutors, OfOneProcessRunBesideEachOther) {
  const RunCase serving = serving_case(ir::Kind::bf16), training = training_case(ir::Kind::f32);
  const auto one = make_cuda_executor({}), two = make_cuda_executor({.numerics = Numerics::fast});
  const auto first = one->plan(serving.instance, serving.weights);
  const auto second = two->plan(training.instance, training.weights);
  test::run_instance(*one, *first, serving.buffers);
  const test::NamedWide served = contents_of(*one, *first);
  const test::NamedWide trained = test::run_instance(*two, *second, training.buffers);
  for (int i = 0; i < 20; ++i) {
    second->start();
    first->start();
  }
  second->wait();
  first->wait();
  expect_same_tensors(contents_of(*one, *first), served);
  EXPECT_EQ(test::from_bytes({ir::Kind::f32, {}}, second->host("loss")).values,
            trained.at("loss").values);
}

}  // namespace
}  // namespace parhelion::exec
