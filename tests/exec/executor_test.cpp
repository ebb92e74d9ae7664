#include "base/error.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/kernels/tier.h"
#include "exec/cuda/cuda_executor.h"
#include "ir/builder.h"
#include "ir/expect_error.h"
#include "ir/passes/lower.h"
#include "support/conformance/data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace parhelion::exec {
namespace {

using ir::Kind;
using ir::TensorType;
using ir::ValueId;

std::unique_ptr<Executor> one_thread_executor() { return make_cpu_executor({.threads = 1}); }

/// y = x w^T of some rows, or with `transpose` = false x w.
ir::Program product_program(std::int64_t rows, bool transpose = true) {
  ir::Program program;
  program.name = "product";
  ir::Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {rows, 3}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {3, 3}));
  builder.output("y", builder.one(ir::MatMul{.transpose_b = transpose}, {x, w}));
  return ir::lower(program, {});
}

/// total += sum of the rows of dy.
ir::Program sum_program() {
  ir::Program program;
  program.name = "sum";
  ir::Builder builder(program);
  const ValueId dy = builder.input("dy", TensorType(Kind::f32, {2, 3}));
  const ValueId total = builder.state("total", TensorType(Kind::f32, {3}));
  builder.one(ir::AccumulateRows{}, {dy, total});
  return ir::lower(program, {});
}

void upload_floats(Executor& executor, std::string_view name, const std::vector<float>& values) {
  executor.upload(name, [&](std::span<std::byte> bytes) {
    ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
  });
}

void write_floats(Plan& plan, std::string_view name, const std::vector<float>& values) {
  ASSERT_EQ(plan.host(name).size(), values.size() * sizeof(float));
  std::memcpy(plan.host(name).data(), values.data(), plan.host(name).size());
}

std::vector<float> floats_in(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

const std::vector<float> kDoubling = {2, 0, 0, 0, 2, 0, 0, 0, 2};
const std::vector<float> kTripling = {3, 0, 0, 0, 3, 0, 0, 0, 3};

TEST(CpuExecutor, SharesANamedParameterBetweenPlans) {
  const auto executor = one_thread_executor();
  const auto one = executor->plan(product_program(1), Weights::frozen);
  const auto two = executor->plan(product_program(2), Weights::frozen);
  upload_floats(*executor, "w", kDoubling);
  write_floats(*one, "x", {1, 2, 3});
  write_floats(*two, "x", {1, 2, 3, 4, 5, 6});
  one->run();
  two->run();
  EXPECT_EQ(floats_in(one->host("y")), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(floats_in(two->host("y")), (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

TEST(CpuExecutor, SharesStateBetweenPlans) {
  const auto executor = one_thread_executor();
  const auto first = executor->plan(sum_program(), Weights::trained);
  const auto second = executor->plan(sum_program(), Weights::trained);
  write_floats(*first, "dy", {1, 2, 3, 1, 2, 3});
  write_floats(*second, "dy", {1, 1, 1, 0, 0, 0});
  first->run();
  second->run();
  EXPECT_EQ(floats_in(executor->download("total")), (std::vector<float>{3, 5, 7}));
}

TEST(CpuExecutor, ReadsAParameterUploadedAgain) {
  for (const Weights weights : {Weights::frozen, Weights::trained}) {
    const auto executor = one_thread_executor();
    const auto plan = executor->plan(product_program(1), weights);
    write_floats(*plan, "x", {1, 2, 3});
    upload_floats(*executor, "w", kDoubling);
    plan->run();
    upload_floats(*executor, "w", kTripling);
    plan->run();
    EXPECT_EQ(floats_in(plan->host("y")), (std::vector<float>{3, 6, 9}));
  }
}

TEST(CpuExecutor, ServesAPlanMadeAfterTheUpload) {
  const auto executor = one_thread_executor();
  const auto raw = executor->plan(product_program(1), Weights::trained);
  upload_floats(*executor, "w", kDoubling);
  const auto packed = executor->plan(product_program(1), Weights::frozen);
  write_floats(*packed, "x", {1, 2, 3});
  packed->run();
  EXPECT_EQ(packed->steps()[0].kernel, "matmul.packed");
  EXPECT_EQ(floats_in(packed->host("y")), (std::vector<float>{2, 4, 6}));
}

TEST(CpuExecutor, RefusesToRunWithoutAnUpload) {
  const auto executor = one_thread_executor();
  const auto plan = executor->plan(product_program(1), Weights::frozen);
  expect_error(ErrorKind::invalid, "plan of 'product': parameter 'w' was never uploaded",
               [&] { plan->run(); });
}

TEST(CpuExecutor, RefusesOneNameForTwoTypes) {
  const auto executor = one_thread_executor();
  const auto plan = executor->plan(product_program(1), Weights::trained);
  ir::Program other;
  ir::Builder builder(other);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {1, 2}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {5, 2}));
  builder.output("y", builder.one(ir::MatMul{.transpose_b = true}, {x, w}));
  expect_error(ErrorKind::invalid,
               "buffer 'w': is parameter f32[5, 2], expected parameter f32[3, 3] as planned before",
               [&] { executor->plan(ir::lower(other, {}), Weights::trained); });
}

TEST(CpuExecutor, RefusesARowMajorReaderOfAPackedParameter) {
  const auto executor = one_thread_executor();
  const auto packed = executor->plan(product_program(1), Weights::frozen);
  upload_floats(*executor, "w", kDoubling);
  expect_error(ErrorKind::invalid,
               "buffer 'w': was uploaded in packed form alone, plan its row-major readers before "
               "the upload",
               [&] { executor->plan(product_program(1), Weights::trained); });
  expect_error(ErrorKind::invalid, "buffer 'w': is resident in packed form alone",
               [&] { executor->download("w"); });
}

TEST(CpuExecutor, KeepsBothFormsForReadersPlannedBefore) {
  const auto executor = one_thread_executor();
  const auto packed = executor->plan(product_program(1), Weights::frozen);
  const auto raw = executor->plan(product_program(1, false), Weights::frozen);
  upload_floats(*executor, "w", {0, 1, 0, 0, 0, 0, 0, 0, 0});
  for (Plan* plan : {packed.get(), raw.get()}) {
    write_floats(*plan, "x", {5, 7, 9});
    plan->run();
  }
  EXPECT_EQ(floats_in(packed->host("y")), (std::vector<float>{7, 0, 0}));
  EXPECT_EQ(floats_in(raw->host("y")), (std::vector<float>{0, 5, 0}));
}

TEST(CpuExecutor, ReportsTheKernelAndEveryRefusalBeforeIt) {
  const auto executor = one_thread_executor();
  const auto untransposed = executor->plan(product_program(1, false), Weights::frozen);
  EXPECT_EQ(untransposed->steps()[0].kernel, "matmul");
  EXPECT_THAT(untransposed->steps()[0].refusals,
              testing::ElementsAre("matmul.packed: b is not transposed"));
  const auto trained = executor->plan(product_program(1), Weights::trained);
  EXPECT_THAT(trained->steps()[0].refusals,
              testing::ElementsAre("matmul.packed: b is no frozen parameter"));
  EXPECT_NE(trained->steps()[0].numerics, "");
}

TEST(CpuExecutor, ClearsAndDownloadsState) {
  const auto executor = one_thread_executor();
  const auto plan = executor->plan(sum_program(), Weights::trained);
  upload_floats(*executor, "total", {1, 2, 3});
  EXPECT_EQ(floats_in(executor->download("total")), (std::vector<float>{1, 2, 3}));
  executor->clear("total");
  EXPECT_EQ(floats_in(executor->download("total")), (std::vector<float>{0, 0, 0}));
}

TEST(CpuExecutor, NamesUnknownBuffers) {
  const auto executor = one_thread_executor();
  const auto plan = executor->plan(product_program(1), Weights::trained);
  expect_error(ErrorKind::invalid, "buffer 'v': no plan names it",
               [&] { upload_floats(*executor, "v", {}); });
  expect_error(ErrorKind::invalid, "buffer 'v': no plan names it",
               [&] { executor->download("v"); });
  expect_error(ErrorKind::invalid, "buffer 'v': no plan names it", [&] { executor->clear("v"); });
  expect_error(ErrorKind::invalid, "plan of 'product': has no input or output 'w'",
               [&] { plan->host("w"); });
}

TEST(CpuExecutor, ListsTheParametersOfItsPlans) {
  const auto executor = one_thread_executor();
  const auto product = executor->plan(product_program(1), Weights::trained);
  const auto sum = executor->plan(sum_program(), Weights::trained);
  const std::vector<ir::Buffer> parameters = executor->parameters();
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].name, "w");
  EXPECT_EQ(parameters[0].type, TensorType(Kind::f32, {3, 3}));
}

TEST(CpuExecutor, MakesConstantsWhenItPlans) {
  ir::Program program;
  ir::Builder builder(program);
  const ValueId ids = builder.input("ids", TensorType(Kind::i32, {2}));
  const ValueId ones =
      builder.constant("ones", ir::Fill{.value = 1.5, .shape = {ir::Symbol::rows, 2}});
  builder.output("y", builder.one(ir::Embedding{}, {ids, ones}));
  ir::Capacities capacities;
  capacities[ir::Symbol::rows] = 4;
  const auto executor = one_thread_executor();
  const auto plan = executor->plan(ir::lower(program, capacities), Weights::frozen);
  test::to_bytes(test::listed(Kind::i32, {3, 4}), plan->host("ids"));
  plan->run();
  EXPECT_EQ(floats_in(plan->host("y")), (std::vector<float>{1.5f, 1.5f, 0, 0}));
}

TEST(CpuExecutor, RefusesNoThreadsAndLevelsThatTheProcessorLacks) {
  expect_error(ErrorKind::invalid, "threads: is 0, expected at least 1",
               [] { make_cpu_executor({.threads = 0}); });
  if (cpu::widest_tier() >= cpu::Tier::avx512) {
    EXPECT_EQ(make_cpu_executor({.threads = 2, .level = CpuLevel::avx512})->describe(),
              "cpu, avx512, 2 threads");
    return;
  }
  EXPECT_THROW(make_cpu_executor({.level = CpuLevel::avx512}), Error);
}

TEST(CudaNumerics, HaveNames) {
  for (const Numerics each : {Numerics::exact, Numerics::invariant, Numerics::fast})
    EXPECT_EQ(numerics_named(name(each)), each);
  expect_error(ErrorKind::invalid, "numerics: is 'quick', expected exact, invariant or fast",
               [] { numerics_named("quick"); });
}

}  // namespace
}  // namespace parhelion::exec
