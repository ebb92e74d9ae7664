#include "exec/kernel_floor.h"

#include "exec/cpu/cpu_executor.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"

#include <gtest/gtest.h>

namespace parhelion::exec {
namespace {

using ir::Kind;
using ir::TensorType;
using ir::ValueId;

constexpr std::int64_t kRows = 8, kColumns = 16;
constexpr double kMatrixBytes = kRows * kColumns * sizeof(float);

/// out = 2 (x w^T) + x: a product, a scale and a sum.
ir::Program floor_program() {
  ir::Program program;
  ir::Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {kRows, kColumns}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {kColumns, kColumns}));
  const ValueId y = builder.one(ir::MatMul{.transpose_b = true}, {x, w});
  builder.output("out", builder.one(ir::Binary{}, {builder.one(ir::Scale{2.0}, {y}), x}));
  return ir::lower(program, {});
}

/// A plan whose steps are told.
class ToldPlan final : public Plan {
 public:
  ToldPlan(ir::Program instance, std::vector<StepReport> steps)
      : instance_(std::move(instance)),
        memory_(ir::plan_memory(instance_)),
        steps_(std::move(steps)) {}
  std::span<std::byte> host(std::string_view) override { return {}; }
  void start() override {}
  void wait() override {}
  std::vector<std::chrono::nanoseconds> profile() override { return {}; }
  const ir::Program& instance() const override { return instance_; }
  const ir::MemoryPlan& memory() const override { return memory_; }
  std::span<const StepReport> steps() const override { return steps_; }

 private:
  ir::Program instance_;
  ir::MemoryPlan memory_;
  std::vector<StepReport> steps_;
};

StepReport step_of(std::int64_t op_count, std::int64_t launches) {
  StepReport report;
  report.op_count = op_count;
  report.launches = launches;
  return report;
}

TEST(KernelFloors, OfAProcessorAreThoseOfEachOp) {
  const auto executor = make_cpu_executor({.threads = 1});
  const auto plan = executor->plan(floor_program(), Weights::trained);
  const std::vector<KernelFloor> kernels = kernel_floors(*plan);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].cost.flops, 2.0 * kRows * kColumns * kColumns);
  EXPECT_EQ(kernels[1].cost.bytes, 2 * kMatrixBytes);
  EXPECT_EQ(kernels[2].cost.bytes, 3 * kMatrixBytes);
  for (const KernelFloor& kernel : kernels) {
    EXPECT_EQ(kernel.op_count, 1);
    EXPECT_EQ(kernel.launches, 1);
    EXPECT_EQ(kernel.seconds, 0);
  }
}

TEST(KernelFloors, OfAGroupLeaveOutWhatItsOpsHandToEachOther) {
  const ToldPlan plan(floor_program(), {step_of(1, 2), step_of(2, 1), step_of(0, 0)});
  const std::vector<KernelFloor> kernels = kernel_floors(plan);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].launches, 2);
  EXPECT_EQ(kernels[1].first_op, 1u);
  EXPECT_EQ(kernels[1].op_count, 2);
  EXPECT_EQ(kernels[1].cost.bytes, 3 * kMatrixBytes);  // y and x read, out written
  EXPECT_EQ(kernels[1].cost.flops, 2 * kRows * kColumns);
}

TEST(KernelFloors, KeepWhatOthersReadToo) {
  const ToldPlan plan(floor_program(), {step_of(2, 1), step_of(0, 0), step_of(1, 1)});
  const std::vector<KernelFloor> kernels = kernel_floors(plan);
  ASSERT_EQ(kernels.size(), 2u);
  const double weight_bytes = kColumns * kColumns * sizeof(float);
  EXPECT_EQ(kernels[0].cost.bytes, 2 * kMatrixBytes + weight_bytes);
}

TEST(KernelFloors, AreTheLongestOfBytesFlopsAndLaunches) {
  const ToldPlan plan(floor_program(), {step_of(1, 1), step_of(1, 1), step_of(1, 5)});
  const double flops = 2.0 * kRows * kColumns * kColumns;
  const Roofline roofline{.bytes_per_second = 2 * kMatrixBytes,
                          .f32_flops_per_second = flops / 10,
                          .bf16_flops_per_second = flops / 1000,
                          .launch_seconds = 0.5};
  const std::vector<KernelFloor> kernels = kernel_floors(plan, &roofline);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].bound, Bound::flops);
  EXPECT_DOUBLE_EQ(kernels[0].seconds, 10);
  EXPECT_EQ(kernels[1].bound, Bound::bytes);
  EXPECT_DOUBLE_EQ(kernels[1].seconds, 1);
  EXPECT_EQ(kernels[2].bound, Bound::launches);
  EXPECT_DOUBLE_EQ(kernels[2].seconds, 2.5);
}

}  // namespace
}  // namespace parhelion::exec
