#include "ir/passes/recompute.h"

#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/memory_plan.h"
#include "ir/passes/lower.h"
#include "ir/print.h"
#include "ir/transformer_program.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

/// Layer 1 squares what enters it twice; the second square's gradient reads the first.
Program two_layer_program() {
  Program program;
  program.name = "recompute";
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {2, 4}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {4, 4}));
  const ValueId y = builder.one(MatMul{}, {x, w});
  builder.set_layer(1);
  const ValueId z = builder.one(Binary{BinaryFunction::multiply}, {y, y});
  const ValueId h = builder.one(Binary{BinaryFunction::multiply}, {z, z});
  builder.set_layer(2);
  const ValueId loss = builder.one(Reduce{}, {h});
  differentiate(program, loss);
  return program;
}

TEST(Recompute, ChangesNothingWhereNoneIsAsked) {
  Program program = two_layer_program();
  recompute(program, Recompute::none);
  EXPECT_EQ(program, two_layer_program());
}

TEST(Recompute, ClonesWhatALayersGradientsReadBeforeTheFirstOfThem) {
  Program program = two_layer_program();
  recompute(program, Recompute::layer);
  verify(program);
  EXPECT_EQ(print(program), R"(program recompute
buffer x: f32[2, 4] | input, microbatch
buffer w: f32[4, 4] | parameter, process
buffer w.gradient: f32[4, 4] | state, step
1. %3: f32[2, 4] = matmul(transpose_a=false, transpose_b=false, bias=false, accumulate=false, out=f32) %1 x, %2 w | forward, layer 0
2. %4: f32[2, 4] = binary(function=multiply) %3, %3 | forward, layer 1
3. %5: f32[2, 4] = binary(function=multiply) %4, %4 | forward, layer 1
4. %6: f32[] = reduce(function=sum, axis=0) %5 | forward, layer 2
5. %7: f32[] = fill(value=1, kind=f32, shape=[]) | input_grad, layer 2
6. %8: f32[2, 4] = broadcast(shape=[2, 4], mean=false) %7 | input_grad, layer 2
7. %17: f32[2, 4] = binary(function=multiply) %3, %3 | input_grad, layer 1
8. %9: f32[2, 4] = binary(function=multiply) %8, %17 | input_grad, layer 1
9. %10: f32[2, 4] = binary(function=multiply) %8, %17 | input_grad, layer 1
10. %11: f32[2, 4] = binary(function=add) %9, %10 | input_grad, layer 1
11. %12: f32[2, 4] = binary(function=multiply) %11, %3 | input_grad, layer 1
12. %13: f32[2, 4] = binary(function=multiply) %11, %3 | input_grad, layer 1
13. %14: f32[2, 4] = binary(function=add) %12, %13 | input_grad, layer 1
14. %16 w.gradient@1: f32[4, 4] = matmul(transpose_a=true, transpose_b=false, bias=false, accumulate=true, out=f32) %1 x, %14, %15 w.gradient | weight_grad, layer 0
)");
}

TEST(Recompute, NeverClonesUpdatesOfState) {
  Program program;
  TransformerProgram(program, {.layers = 2}).add_extend();
  const Program before = program;
  recompute(program, Recompute::layer);
  EXPECT_EQ(program, before);
}

std::int64_t slot_bytes(Recompute policy) {
  Program program;
  differentiate(program, TransformerProgram(program, {.layers = 12}).add_train());
  Capacities capacities;
  capacities[Symbol::tokens] = 128;
  capacities[Symbol::documents] = 2;
  const MemoryPlan plan = plan_memory(lower(program, capacities, policy));
  return plan.peak_bytes[static_cast<std::size_t>(ArenaKind::slot)];
}

TEST(Recompute, NeedsLessThanAThirdOfTheSlotPerLayer) {
  EXPECT_LT(3 * slot_bytes(Recompute::layer), slot_bytes(Recompute::none));
}

}  // namespace
}  // namespace parhelion::ir
