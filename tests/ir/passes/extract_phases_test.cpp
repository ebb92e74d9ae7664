#include "ir/passes/extract_phases.h"

#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/expect_error.h"
#include "ir/print.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

/// loss = sum(x w); then, in the update phase, w is changed and its gradient cleared.
Program updated_program() {
  Program program;
  program.name = "train";
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {2, 4}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {4, 4}));
  differentiate(program, builder.one(Reduce{}, {builder.one(MatMul{}, {x, w})}));
  Builder update(program);
  update.set_phase(Phase::update);
  const ValueId number = update.input("number", TensorType(Kind::f32, {}), Lifetime::step);
  const ValueId seed = update.input("seed", TensorType(Kind::u64, {}), Lifetime::step);
  const ValueId gradient =
      update.state("w.gradient", TensorType(Kind::f32, {4, 4}), Lifetime::step);
  update.one(SgdUpdate{}, {w, gradient, number, number, number, seed});
  update.one(Clear{}, {gradient});
  return program;
}

TEST(ExtractPhases, CutsAProgramWhereItsBuffersCarryOn) {
  const Program whole = updated_program();
  const Program update = extract_phases(whole, {Phase::update}, "update");
  verify(update);
  EXPECT_EQ(print(update), R"(program update
buffer w: f32[4, 4] | parameter, process
buffer w.gradient: f32[4, 4] | state, step
buffer number: f32[] | input, step
buffer seed: u64[] | input, step
1. %5 w@1: f32[4, 4] = sgd_update(momentum=0, weight_decay=0, lr_scale=1, nesterov=false, master=false, rounding=nearest, tag=0) %1 w, %2 w.gradient, %3 number, %3 number, %3 number, %4 seed | update, layer 0
2. %6 w.gradient@1: f32[4, 4] = clear() %2 w.gradient | update, layer 0
)");
  const Program microbatch =
      extract_phases(whole, {Phase::forward, Phase::input_grad, Phase::weight_grad}, "microbatch");
  verify(microbatch);
  EXPECT_EQ(microbatch.ops.size() + update.ops.size(), whole.ops.size());
}

TEST(ExtractPhases, RefusesActivationsOfOtherPhases) {
  expect_error(ErrorKind::invalid,
               "extract phases: matmul () reads value 6 of phase input_grad, expected phases that "
               "hold both",
               [] { extract_phases(updated_program(), {Phase::weight_grad}, "weights"); });
}

}  // namespace
}  // namespace parhelion::ir
