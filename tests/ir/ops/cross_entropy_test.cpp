#include "ir/ops/cross_entropy.h"

#include "ir/op_checks.h"
#include "ir/ops/cross_entropy_step.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(LinearCrossEntropy, ChecksItsOperands) {
  const LinearCrossEntropy op;
  expect_refusals({
      {op, {}, "linear_cross_entropy C0: has 0 inputs, expected 3"},
      {op,
       {"f32[4]", "f32[9, 4]", "i32[2]"},
       "linear_cross_entropy C1: rank(hidden) is 1, expected 2"},
      {op,
       {"f32[2, 4]", "f32[4]", "i32[2]"},
       "linear_cross_entropy C1: rank(weight) is 1, expected 2"},
      {op,
       {"f16[2, 4]", "f32[9, 4]", "i32[2]"},
       "linear_cross_entropy C1: dtype(hidden) is f16, expected f32 or bf16"},
      {op,
       {"f32[2, 4]", "f16[9, 4]", "i32[2]"},
       "linear_cross_entropy C1: dtype(weight) is f16, expected f32 or bf16"},
      {op,
       {"f32[2, 4]", "f32[9, 5]", "i32[2]"},
       "linear_cross_entropy C2: shape(weight) is [9, 5], expected [9, 4]"},
      {op,
       {"f32[tokens, 4]", "f32[9, 4]", "i64[tokens]"},
       "linear_cross_entropy C3: type(labels) is i64[tokens], expected i32[tokens]"},
  });
}

/// Operands of LinearCrossEntropyGrad with one replaced.
Refusal cross_entropy_grad_refusal(std::size_t operand, std::string_view type,
                                   std::string message) {
  Refusal refusal{LinearCrossEntropyGrad{},
                  {"bf16[2, 4]", "bf16[9, 4]", "i32[2]", "f32[2]", "f32[2]", "f32[9, 4]"},
                  "linear_cross_entropy_grad " + std::move(message)};
  refusal.inputs[operand] = type;
  return refusal;
}

TEST(LinearCrossEntropyGrad, ChecksItsOperands) {
  expect_refusals({
      {LinearCrossEntropyGrad{}, {}, "linear_cross_entropy_grad C0: has 0 inputs, expected 6"},
      {LinearCrossEntropyGrad{.accumulate = false},
       {},
       "linear_cross_entropy_grad C0: has 0 inputs, expected 5"},
      cross_entropy_grad_refusal(0, "bf16[4]", "C1: rank(hidden) is 1, expected 2"),
      cross_entropy_grad_refusal(1, "bf16[9, 5]", "C2: shape(weight) is [9, 5], expected [9, 4]"),
      cross_entropy_grad_refusal(2, "i32[3]", "C3: type(labels) is i32[3], expected i32[2]"),
      cross_entropy_grad_refusal(3, "bf16[2]", "C4: type(lse) is bf16[2], expected f32[2]"),
      cross_entropy_grad_refusal(4, "f32[]", "C4: type(dloss) is f32[], expected f32[2]"),
      cross_entropy_grad_refusal(5, "bf16[9, 4]",
                                 "C5: type(acc) is bf16[9, 4], expected f32[9, 4]"),
  });
}

TEST(LogProbability, ChecksItsOperands) {
  const LogProbability op;
  expect_refusals({
      {op, {}, "log_probability C0: has 0 inputs, expected 2"},
      {op, {"f32[9]", "i32[]"}, "log_probability C1: rank(logits) is 1, expected 2"},
      {op, {"bf16[2, 9]", "i32[2]"}, "log_probability C1: dtype(logits) is bf16, expected f32"},
      {op, {"f32[2, 9]", "i32[9]"}, "log_probability C2: type(ids) is i32[9], expected i32[2]"},
  });
}

TEST(LinearCrossEntropyStep, ChecksItsOperands) {
  const LinearCrossEntropyStep op;
  expect_refusals({
      {op, {}, "linear_cross_entropy_step C0: has 0 inputs, expected 5"},
      {LinearCrossEntropyStep{.accumulate = false},
       {},
       "linear_cross_entropy_step C0: has 0 inputs, expected 4"},
      {op,
       {"f32[2, 4]", "f32[9, 3]", "i32[2]", "f32[2]", "f32[9, 4]"},
       "linear_cross_entropy_step C2: shape(weight) is [9, 3], expected [9, 4]"},
      {op,
       {"f32[2, 4]", "f32[9, 4]", "i32[2]", "f32[3]", "f32[9, 4]"},
       "linear_cross_entropy_step C4: type(dloss) is f32[3], expected f32[2]"},
      {op,
       {"f32[2, 4]", "f32[9, 4]", "i32[2]", "f32[2]", "bf16[9, 4]"},
       "linear_cross_entropy_step C5: type(acc) is bf16[9, 4], expected f32[9, 4]"},
  });
}

}  // namespace
}  // namespace parhelion::ir
