#include "ir/passes/recompute.h"

#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/cost_summary.h"
#include "ir/expect_error.h"
#include "ir/memory_plan.h"
#include "ir/passes/instantiate.h"
#include "ir/passes/lower.h"
#include "ir/passes/recompute_order.h"
#include "ir/passes/relink.h"
#include "ir/print.h"
#include "ir/transformer_program.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

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

/// In each layer but the first and the last a norm, two products and dropout, whose results
/// gradients read.
Program gated_program(std::int32_t layers = 1) {
  Program program;
  program.name = "gated";
  Builder builder(program);
  const ValueId seed = builder.input("seed", TensorType(Kind::u64, {}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {4, 4}));
  ValueId x = builder.one(MatMul{}, {builder.input("x", TensorType(Kind::f32, {4, 4})), w});
  for (std::int32_t layer = 1; layer <= layers; ++layer) {
    builder.set_layer(layer);
    const ValueId g = builder.parameter(fmt::format("g{}", layer), TensorType(Kind::f32, {4}));
    const ValueId n = builder.one(RmsNorm{}, {x, g});
    const ValueId v = builder.parameter(fmt::format("v{}", layer), TensorType(Kind::f32, {4, 4}));
    const ValueId m = builder.one(MatMul{}, {n, v});
    const ValueId d = builder.one(Dropout{.probability = 0.5, .tag = layer}, {m, seed});
    x = builder.one(Binary{BinaryFunction::multiply}, {m, d});
  }
  builder.set_layer(layers + 1);
  differentiate(program, builder.one(Reduce{}, {x}));
  return program;
}

/// The lines of a program's ops from the first gradient op on.
std::string gradient_lines(const Program& program) {
  const std::string text = print(program);
  const std::size_t first = text.find("= fill");
  return text.substr(text.rfind('\n', first) + 1);
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

TEST(Recompute, KeepsProductsWhereSelective) {
  Program program = gated_program();
  recompute(program, Recompute::selective);
  verify(program);
  EXPECT_EQ(gradient_lines(program),
            R"(7. %12: f32[] = fill(value=1, kind=f32, shape=[]) | input_grad, layer 2
8. %13: f32[4, 4] = broadcast(shape=[4, 4], mean=false) %12 | input_grad, layer 2
9. %26: f32[4, 4] = dropout(probability=0.5, tag=1) %8, %1 seed | input_grad, layer 1
10. %14: f32[4, 4] = binary(function=multiply) %13, %26 | input_grad, layer 1
11. %15: f32[4, 4] = binary(function=multiply) %13, %8 | input_grad, layer 1
12. %16: f32[4, 4] = dropout(probability=0.5, tag=1) %15, %1 seed | input_grad, layer 1
13. %17: f32[4, 4] = binary(function=add) %14, %16 | input_grad, layer 1
14. %18: f32[4, 4] = matmul(transpose_a=false, transpose_b=true, bias=false, accumulate=false, out=f32) %17, %7 v1 | input_grad, layer 1
15. %27: f32[4, 4] = rms_norm(eps=1e-06) %4, %5 g1 | weight_grad, layer 1
16. %20 v1.gradient@1: f32[4, 4] = matmul(transpose_a=true, transpose_b=false, bias=false, accumulate=true, out=f32) %27, %17, %19 v1.gradient | weight_grad, layer 1
17. %21: f32[4, 4] = rms_norm_grad_input(eps=1e-06) %4, %5 g1, %18 | input_grad, layer 1
18. %23 g1.gradient@1: f32[4] = rms_norm_grad_weight(eps=1e-06) %4, %18, %22 g1.gradient | weight_grad, layer 1
19. %25 w.gradient@1: f32[4, 4] = matmul(transpose_a=true, transpose_b=false, bias=false, accumulate=true, out=f32) %3 x, %21, %24 w.gradient | weight_grad, layer 0
)");
}

TEST(Recompute, KeepsOnlyWhatEntersALayerAndDrawsTheSameBits) {
  Program program = gated_program();
  recompute(program, Recompute::layer);
  verify(program);
  EXPECT_EQ(gradient_lines(program),
            R"(7. %12: f32[] = fill(value=1, kind=f32, shape=[]) | input_grad, layer 2
8. %13: f32[4, 4] = broadcast(shape=[4, 4], mean=false) %12 | input_grad, layer 2
9. %26: f32[4, 4] = rms_norm(eps=1e-06) %4, %5 g1 | input_grad, layer 1
10. %27: f32[4, 4] = matmul(transpose_a=false, transpose_b=false, bias=false, accumulate=false, out=f32) %26, %7 v1 | input_grad, layer 1
11. %28: f32[4, 4] = dropout(probability=0.5, tag=1) %27, %1 seed | input_grad, layer 1
12. %14: f32[4, 4] = binary(function=multiply) %13, %28 | input_grad, layer 1
13. %15: f32[4, 4] = binary(function=multiply) %13, %27 | input_grad, layer 1
14. %16: f32[4, 4] = dropout(probability=0.5, tag=1) %15, %1 seed | input_grad, layer 1
15. %17: f32[4, 4] = binary(function=add) %14, %16 | input_grad, layer 1
16. %18: f32[4, 4] = matmul(transpose_a=false, transpose_b=true, bias=false, accumulate=false, out=f32) %17, %7 v1 | input_grad, layer 1
17. %20 v1.gradient@1: f32[4, 4] = matmul(transpose_a=true, transpose_b=false, bias=false, accumulate=true, out=f32) %26, %17, %19 v1.gradient | weight_grad, layer 1
18. %21: f32[4, 4] = rms_norm_grad_input(eps=1e-06) %4, %5 g1, %18 | input_grad, layer 1
19. %23 g1.gradient@1: f32[4] = rms_norm_grad_weight(eps=1e-06) %4, %18, %22 g1.gradient | weight_grad, layer 1
20. %25 w.gradient@1: f32[4, 4] = matmul(transpose_a=true, transpose_b=false, bias=false, accumulate=true, out=f32) %3 x, %21, %24 w.gradient | weight_grad, layer 0
)");
}

TEST(Recompute, MovesWhatGradientsAloneRead) {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {4, 4}));
  const ValueId y = builder.one(Binary{BinaryFunction::multiply}, {x, x});
  const ValueId z = builder.one(Cast{Kind::bf16}, {y});
  builder.set_phase(Phase::input_grad);
  builder.one(Binary{BinaryFunction::add}, {y, y});
  builder.one(Binary{BinaryFunction::add}, {z, z});
  recompute(program, Recompute::selective);
  verify(program);
  EXPECT_EQ(print(program), R"(program 
buffer x: f32[4, 4] | input, microbatch
1. %4: f32[4, 4] = binary(function=multiply) %1 x, %1 x | input_grad, layer 0
2. %2: f32[4, 4] = binary(function=add) %4, %4 | input_grad, layer 0
3. %5: bf16[4, 4] = cast(to=bf16) %4 | input_grad, layer 0
4. %3: bf16[4, 4] = binary(function=add) %5, %5 | input_grad, layer 0
)");
}

TEST(Recompute, NeverClonesUpdatesOfState) {
  Program program;
  TransformerProgram(program, {.layers = 2}).add_extend();
  const Program before = program;
  recompute(program, Recompute::layer);
  EXPECT_EQ(program, before);
}

/// Forward op 1 reads a sum that op 2 moves on, op 3 an activation that op 4 overwrites.
Program program_with_moved_values() {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {2, 4}));
  const ValueId sum = builder.state("sum", TensorType(Kind::f32, {4}), Lifetime::step);
  builder.one(Binary{BinaryFunction::multiply}, {sum, sum});
  builder.one(AccumulateRows{}, {x, sum});
  const ValueId zero = builder.one(Fill{.value = 0, .shape = {4}}, {});
  builder.one(Binary{BinaryFunction::multiply}, {zero, zero});
  builder.one(AccumulateRows{}, {x, zero});
  builder.one(Binary{BinaryFunction::multiply}, {x, x});
  return program;
}

TEST(Recompute, KnowsWhatWouldReadOtherBits) {
  const std::vector<bool> expected = {false, false, true, false, false, true};
  EXPECT_EQ(can_recompute(program_with_moved_values()), expected);
}

TEST(Recompute, RefusesAnOpThatCannotRunAgain) {
  Program program = program_with_moved_values();
  const std::vector<OpId> ops{{2}};
  expect_error(ErrorKind::bug, "recompute: op 2 accumulate_rows cannot run again",
               [&] { recompute(program, ops); });
}

Program twelve_layers() {
  Program program;
  differentiate(program, TransformerProgram(program, {.layers = 12}).add_train());
  return program;
}

Capacities capacities() {
  Capacities result;
  result[Symbol::tokens] = 128;
  result[Symbol::documents] = 2;
  return result;
}

std::int64_t activation_bytes(const Program& instance) {
  const MemoryPlan plan = plan_memory(instance);
  verify_memory(instance, plan);
  return plan.peak_bytes[static_cast<std::size_t>(ArenaKind::slot)] +
         plan.peak_bytes[static_cast<std::size_t>(ArenaKind::transient)];
}

std::int64_t activation_bytes(const RecomputePolicy& policy) {
  return activation_bytes(lower(twelve_layers(), capacities(), policy));
}

double flops(const Program& instance) { return summarize_cost(instance).total.cost.flops; }

TEST(Recompute, NeedsAFifthOfTheMemoryPerLayerAndLessWhereSelective) {
  const std::int64_t none = activation_bytes(Recompute::none);
  EXPECT_LT(5 * activation_bytes(Recompute::layer), none);
  EXPECT_LT(4 * activation_bytes(Recompute::selective), 3 * none);
}

TEST(Recompute, HardlyWorksMoreWhereSelective) {
  const double none = flops(lower(twelve_layers(), capacities()));
  EXPECT_LT(flops(lower(twelve_layers(), capacities(), Recompute::selective)), 1.02 * none);
  EXPECT_GT(flops(lower(twelve_layers(), capacities(), Recompute::layer)), 1.15 * none);
}

TEST(Recompute, LetsASchedulerRunPhasesApart) {
  for (const Recompute policy : {Recompute::selective, Recompute::layer}) {
    Program program = lower(twelve_layers(), capacities(), policy);
    std::ranges::stable_sort(program.ops, {}, &OpNode::phase);
    relink(program);
    EXPECT_NO_THROW(verify(program));
  }
}

/// Executors run norms and ropes that follow each other as one kernel.
TEST(Recompute, KeepsNormsAndRopesOfHeadsTogether) {
  Program program;
  differentiate(program, TransformerProgram(program, {.head_norms = true}).add_train());
  const Program instance = lower(program, capacities(), Recompute::selective);
  std::vector<std::string_view> names;
  for (const OpNode& node : instance.ops) names.push_back(traits(node.op).name);
  for (auto at = names.begin();
       (at = std::ranges::find(at, names.end(), "attention_grad")) != names.end(); ++at) {
    EXPECT_EQ(std::vector<std::string_view>(at - 4, at),
              (std::vector<std::string_view>{"rms_norm", "rope", "rms_norm", "rope"}));
  }
  EXPECT_EQ(std::ranges::count(names, "attention_grad"), 2);
}

TEST(FitRecompute, WorksLessTheMoreMemoryThereIs) {
  const std::int64_t most = activation_bytes(Recompute::none);
  const std::int64_t least = activation_bytes(Recompute::layer);
  double work = std::numeric_limits<double>::infinity();
  for (std::int64_t percent = 0; percent <= 100; percent += 10) {
    const std::int64_t bytes = least + (most - least) * percent / 100;
    const Program instance = lower(twelve_layers(), capacities(), ActivationBudget{bytes});
    EXPECT_LE(activation_bytes(instance), bytes);
    EXPECT_LE(flops(instance), work);
    work = flops(instance);
  }
  EXPECT_EQ(lower(twelve_layers(), capacities(), ActivationBudget{most}),
            lower(twelve_layers(), capacities()));
}

/// What a budget computes again of three layers, such as "dropout 1".
std::vector<std::string> fitted(std::int64_t bytes) {
  const Program program = gated_program(3);
  std::vector<std::string> result;
  for (const OpId id : fit_recompute(program, {}, {bytes}))
    result.push_back(fmt::format("{} {}", traits(program.at(id).op).name, program.at(id).layer));
  return result;
}

TEST(FitRecompute, TakesCheapOpsOfLowLayersFirst) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(fitted(960), Names());
  EXPECT_EQ(fitted(896), Names({"dropout 1"}));
  EXPECT_EQ(fitted(832), Names({"dropout 1", "dropout 2"}));
  EXPECT_EQ(fitted(768), Names({"rms_norm 1", "dropout 1", "dropout 2", "dropout 3"}));
}

TEST(FitRecompute, SaysHowMuchIsMissing) {
  expect_error(ErrorKind::exhausted,
               "recompute: activations need 0.6 MiB with all computed again that can be, 0.1 MiB "
               "too many",
               [] { activation_bytes(ActivationBudget{1 << 19}); });
}

TEST(RecomputeOrder, BeginsWithWhatCostsLeastInTheLowestLayer) {
  const Program instance = instantiate(gated_program(), {});
  const std::vector<std::vector<OpId>> order = recompute_order(instance);
  const std::vector<std::vector<OpId>> expected = {{{4}}, {{2}}, {{3}}};
  EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace parhelion::ir
