#include "ir/cost_summary.h"

#include "ir/builder.h"
#include "ir/expect_error.h"
#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

Program cost_program() {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {10, 20}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {30, 20}));
  const ValueId acc = builder.state("acc", TensorType(Kind::f32, {30, 20}), Lifetime::step);
  const ValueId y = builder.one(MatMul{.transpose_b = true}, {x, w});
  const ValueId z = builder.one(Binary{}, {y, y});
  builder.set_phase(Phase::weight_grad);
  builder.one(MatMul{.transpose_a = true, .accumulate = true}, {z, x, acc});
  return program;
}

TEST(CostSummary, AddsUpFamiliesAndPhases) {
  const CostSummary summary = summarize_cost(cost_program());
  ASSERT_EQ(summary.by_family.size(), 2u);
  EXPECT_EQ(summary.by_family[0].name, "matmul");
  EXPECT_EQ(summary.by_family[0].op_count, 2);
  EXPECT_EQ(summary.by_family[0].cost.flops, 2 * 2 * 10 * 20 * 30);
  EXPECT_EQ(summary.by_family[1].cost.flops, 10 * 30);
  EXPECT_EQ(summary.by_phase[0].cost.flops, 2 * 10 * 20 * 30 + 10 * 30);
  EXPECT_EQ(summary.by_phase[0].cost.bytes, 4 * (10 * 20 + 30 * 20 + 10 * 30) + 4 * 3 * 10 * 30);
  EXPECT_EQ(summary.by_phase[2].op_count, 1);
  EXPECT_EQ(summary.total.op_count, 3);
  EXPECT_EQ(summary.total.cost.flops, 2 * 2 * 10 * 20 * 30 + 10 * 30);
}

TEST(CostSummary, PrintsATable) {
  EXPECT_EQ(print(summarize_cost(cost_program())),
            R"(cost                           ops           GFLOP              MB
matmul                           2        0.000024        0.011200
binary                           1        0.000000        0.003600
forward                          2        0.000012        0.008000
weight_grad                      1        0.000012        0.006800
all                              3        0.000024        0.014800
)");
}

TEST(CostSummary, NeedsNumbers) {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {Symbol::tokens}));
  builder.one(Reduce{}, {x});
  expect_error(ErrorKind::bug, "dim: tokens is symbolic, expected a number",
               [&] { summarize_cost(program); });
}

TEST(Cost, CountsWorkOfEachFamily) {
  Capacities capacities;
  for (std::int64_t i = 1; i < kSymbolCount; ++i) capacities[static_cast<Symbol>(i)] = 8;
  for (const LegalCase& each : legal_cases()) {
    std::vector<TensorType> inputs = types_from_text(each.inputs);
    for (TensorType& type : inputs) type.shape = evaluate(type.shape, capacities);
    const Op op = evaluate(each.op, capacities);
    const Cost work = cost(op, inputs, infer(op, inputs));
    const bool is_view = std::holds_alternative<Reshape>(op);
    EXPECT_EQ(work.bytes > 0, !is_view) << to_string(op);
    EXPECT_GE(work.flops, 0) << to_string(op);
  }
}

TEST(Cost, CountsThePagesThatAttentionReads) {
  const std::vector<TensorType> inputs =
      types_from_text({"bf16[4, 4, 8]", "bf16[100, 16, 2, 8]", "bf16[100, 16, 2, 8]", "i32[2, 3]",
                       "i32[3]", "i32[2]"});
  const Cost work = cost(Op(PagedAttention{}), inputs, infer(PagedAttention{}, inputs));
  EXPECT_EQ(work.flops, 4.0 * (4 * 4 * 8) * (3 * 16));
  EXPECT_EQ(work.bytes, 2.0 * (4 * 4 * 8) * 2 + 2.0 * 2 * (3 * 16) * (2 * 8) * 2);
}

}  // namespace
}  // namespace parhelion::ir
