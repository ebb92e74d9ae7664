#include "ir/ops/mat_mul.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(MatMul, ChecksItsOperands) {
  expect_refusals({
      {MatMul{}, {"f32[2, 3]"}, "matmul C0: has 1 inputs, expected 2"},
      {MatMul{.bias = true}, {"f32[2, 3]", "f32[3, 4]"}, "matmul C0: has 2 inputs, expected 3"},
      {MatMul{}, {"f32[3]", "f32[3, 4]"}, "matmul C1: rank(a) is 1, expected 2"},
      {MatMul{}, {"f32[2, 3]", "f32[3, 4, 1]"}, "matmul C1: rank(b) is 3, expected 2"},
      {MatMul{}, {"f32[2, 3]", "f32[4, 3]"}, "matmul C2: b contracts 4, expected 3"},
      {MatMul{.transpose_b = true},
       {"f32[2, 3]", "f32[3, 4]"},
       "matmul C2: b contracts 4, expected 3"},
      {MatMul{.transpose_a = true},
       {"f32[tokens, 3]", "f32[rows, 4]"},
       "matmul C2: b contracts rows, expected tokens"},
      {MatMul{}, {"i32[2, 3]", "f32[3, 4]"}, "matmul C3: dtype(a) is i32, expected f32 or bf16"},
      {MatMul{}, {"f32[2, 3]", "f16[3, 4]"}, "matmul C3: dtype(b) is f16, expected f32 or bf16"},
      {MatMul{.out = Kind::f64},
       {"f32[2, 3]", "f32[3, 4]"},
       "matmul C3: dtype(y) is f64, expected f32 or bf16"},
  });
}

TEST(MatMul, ChecksBiasAndAccumulator) {
  expect_refusals({
      {MatMul{.bias = true},
       {"f32[2, 3]", "f32[3, 4]", "i32[4]"},
       "matmul C4: dtype(bias) is i32, expected f32 or bf16"},
      {MatMul{.bias = true},
       {"f32[2, 3]", "f32[3, 4]", "f32[3]"},
       "matmul C4: shape(bias) is [3], expected [4]"},
      {MatMul{.accumulate = true, .out = Kind::bf16},
       {"f32[2, 3]", "f32[3, 4]", "f32[2, 4]"},
       "matmul C5: dtype(y) is bf16, expected f32"},
      {MatMul{.accumulate = true},
       {"f32[2, 3]", "f32[3, 4]", "bf16[2, 4]"},
       "matmul C5: type(accumulator) is bf16[2, 4], expected f32[2, 4]"},
      {MatMul{.bias = true, .accumulate = true},
       {"f32[2, 3]", "f32[3, 4]", "f32[4]", "f32[2, 4]"},
       "matmul C6: has bias and accumulate, expected one"},
  });
}

TEST(MatMul, TiesItsAccumulatorOnly) {
  EXPECT_TRUE(traits(MatMul{.bias = true}).ties.empty());
  EXPECT_EQ(traits(MatMul{.accumulate = true}).ties, (std::vector<Tie>{{.input = 2, .output = 0}}));
  EXPECT_EQ(traits(MatMul{.accumulate = true}).effect, Effect::state);
}

TEST(MatMul, CostsTwoFlopsForEachProduct) {
  const std::vector<TensorType> inputs = types_from_text({"bf16[2, 3]", "bf16[4, 3]"});
  const MatMul op{.transpose_b = true};
  const Cost work = cost(op, inputs, infer(op, inputs));
  EXPECT_EQ(work.flops, 2 * 2 * 3 * 4);
  EXPECT_EQ(work.bytes, 2 * 3 * 2 + 4 * 3 * 2 + 2 * 4 * 4);
}

}  // namespace
}  // namespace parhelion::ir
