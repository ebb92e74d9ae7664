#include "ir/ops/step.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(Accumulate, ChecksItsOperands) {
  expect_refusals({
      {Accumulate{}, {"f32[2]"}, "accumulate C0: has 1 inputs, expected 2"},
      {Accumulate{}, {"i32[2]", "f32[2]"}, "accumulate C1: dtype(x) is i32, expected f32 or bf16"},
      {Accumulate{}, {"f32[2]", "f32[3]"}, "accumulate C2: type(sum) is f32[3], expected f32[2]"},
  });
}

TEST(Clear, ChecksItsOperands) {
  expect_refusals({
      {Clear{}, {}, "clear C0: has 0 inputs, expected 1"},
      {Clear{}, {"bf16[2]"}, "clear C1: dtype(x) is bf16, expected f32"},
  });
}

TEST(SquaredNorm, ChecksItsOperands) {
  expect_refusals({
      {SquaredNorm{}, {}, "squared_norm C0: has 0 inputs, expected 1"},
      {SquaredNorm{}, {"bf16[2]"}, "squared_norm C1: dtype(x) is bf16, expected f32"},
  });
}

TEST(StepScale, ChecksItsOperands) {
  expect_refusals({
      {StepScale{}, {"f32[]"}, "step_scale C0: has 1 inputs, expected 3"},
      {StepScale{},
       {"f32[]", "f32[1]", "f32[]"},
       "step_scale C1: type(weight) is f32[1], expected f32[]"},
      {StepScale{.max_norm = -1},
       {"f32[]", "f32[]", "f32[]"},
       "step_scale C2: max_norm is -1, expected at least 0"},
  });
}

}  // namespace
}  // namespace parhelion::ir
