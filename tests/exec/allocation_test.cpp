#include "exec/cpu/cpu_executor.h"
#include "ir/autodiff/differentiate.h"
#include "ir/passes/lower.h"
#include "ir/transformer_program.h"
#include "support/allocation_count.h"
#include "support/conformance/loss_programs.h"
#include "support/conformance/run.h"

#include <gtest/gtest.h>

namespace parhelion::exec {
namespace {

/// How often memory was asked for during `act`.
template <class Act>
std::int64_t allocations_of(const Act& act) {
  const std::int64_t before = test::allocation_count();
  act();
  return test::allocation_count() - before;
}

/// Zeros are legal content for every buffer of `instance`: empty documents and rows.
test::NamedWide zero_buffers(const ir::Program& instance) {
  test::NamedWide result;
  for (const ir::Buffer& buffer : instance.buffers) {
    if (buffer.role == ir::Role::input || buffer.role == ir::Role::parameter) {
      result[buffer.name] = test::zeros(buffer.type);
    }
  }
  return result;
}

void expect_no_allocations(const ir::Program& instance, Weights weights,
                           const test::NamedWide& buffers) {
  for (const int threads : {1, 2}) {
    const auto executor = make_cpu_executor({.threads = threads});
    const auto plan = executor->plan(instance, weights);
    test::run_instance(*executor, *plan, buffers);
    EXPECT_EQ(allocations_of([&] { plan->run(); }), 0) << threads << " threads";
  }
}

TEST(Allocation, IsCounted) {
  EXPECT_GT(allocations_of([] {
              volatile auto size = std::vector<int>(1000).size();
              static_cast<void>(size);
            }),
            0);
}

TEST(Allocation, DoesNotHappenWhileATrainingProgramRuns) {
  const test::LossProgram made = test::decoder_program(ir::Kind::f32);
  ir::Program program = made.program;
  ir::differentiate(program, made.loss);
  for (const ir::Recompute policy : {ir::Recompute::none, ir::Recompute::layer}) {
    expect_no_allocations(ir::lower(program, made.capacities, policy), Weights::trained,
                          made.buffers);
  }
}

TEST(Allocation, DoesNotHappenWhileLargeOpsRunOnThreads) {
  test::LossProgram made;
  made.loss =
      ir::TransformerProgram(made.program, {.layers = 1, .kind = ir::Kind::bf16}).add_train();
  made.capacities[ir::Symbol::tokens] = 96;
  made.capacities[ir::Symbol::documents] = 2;
  ir::differentiate(made.program, made.loss);
  const ir::Program instance = ir::lower(made.program, made.capacities);
  test::NamedWide buffers = zero_buffers(instance);
  buffers["document_indptr"].values = {0, 60, 96};
  expect_no_allocations(instance, Weights::trained, buffers);
}

TEST(Allocation, DoesNotHappenWhileAnExtendProgramRuns) {
  const test::FilledProgram made = test::extend_program(ir::Kind::f32);
  const ir::Program instance = ir::lower(made.program, made.capacities);
  for (const Weights weights : {Weights::frozen, Weights::trained}) {
    expect_no_allocations(instance, weights, made.buffers);
  }
}

}  // namespace
}  // namespace parhelion::exec
