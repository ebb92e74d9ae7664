#include "ir/ops/rms_norm.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(RmsNorm, ChecksItsOperands) {
  expect_refusals({
      {RmsNorm{}, {"f32[2, 4]"}, "rms_norm C0: has 1 inputs, expected 2"},
      {RmsNorm{}, {"f32[]", "f32[4]"}, "rms_norm C1: rank(x) is 0, expected at least 1"},
      {RmsNorm{}, {"i32[2, 4]", "f32[4]"}, "rms_norm C1: dtype(x) is i32, expected f32 or bf16"},
      {RmsNorm{}, {"f32[2, 4]", "f32[5]"}, "rms_norm C2: shape(w) is [5], expected [4]"},
      {RmsNorm{}, {"f32[2, 4]", "bf16[4]"}, "rms_norm C3: dtype(w) is bf16, expected f32"},
      {RmsNorm{.eps = 0}, {"f32[2, 4]", "f32[4]"}, "rms_norm C4: eps is 0, expected > 0"},
  });
}

TEST(RmsNormGradInput, ChecksItsOperands) {
  const RmsNormGradInput op;
  expect_refusals({
      {op, {"f32[2, 4]"}, "rms_norm_grad_input C0: has 1 inputs, expected 3"},
      {op,
       {"f32[]", "f32[4]", "f32[]"},
       "rms_norm_grad_input C1: rank(x) is 0, expected at least 1"},
      {op,
       {"f32[2, 4]", "f32[5]", "f32[2, 4]"},
       "rms_norm_grad_input C2: shape(w) is [5], expected [4]"},
      {op,
       {"f32[2, 4]", "bf16[4]", "f32[2, 4]"},
       "rms_norm_grad_input C3: dtype(w) is bf16, expected f32"},
      {RmsNormGradInput{.eps = -1},
       {"f32[2, 4]", "f32[4]", "f32[2, 4]"},
       "rms_norm_grad_input C4: eps is -1, expected > 0"},
      {op,
       {"f32[2, 4]", "f32[4]", "bf16[2, 4]"},
       "rms_norm_grad_input C5: type(dy) is bf16[2, 4], expected f32[2, 4]"},
  });
}

TEST(RmsNormGradWeight, ChecksItsOperands) {
  const RmsNormGradWeight op;
  expect_refusals({
      {op, {"f32[2, 4]"}, "rms_norm_grad_weight C0: has 1 inputs, expected 3"},
      {op,
       {"f32[]", "f32[]", "f32[4]"},
       "rms_norm_grad_weight C1: rank(x) is 0, expected at least 1"},
      {op,
       {"f16[2, 4]", "f16[2, 4]", "f32[4]"},
       "rms_norm_grad_weight C1: dtype(x) is f16, expected f32 or bf16"},
      {op,
       {"f32[2, 4]", "f32[3, 4]", "f32[4]"},
       "rms_norm_grad_weight C2: type(dy) is f32[3, 4], expected f32[2, 4]"},
      {op,
       {"bf16[2, 4]", "bf16[2, 4]", "bf16[4]"},
       "rms_norm_grad_weight C3: type(acc) is bf16[4], expected f32[4]"},
      {RmsNormGradWeight{.eps = 0},
       {"f32[2, 4]", "f32[2, 4]", "f32[4]"},
       "rms_norm_grad_weight C4: eps is 0, expected > 0"},
  });
}

TEST(AddRmsNorm, ChecksItsOperands) {
  const AddRmsNorm op;
  expect_refusals({
      {op, {"f32[2, 4]"}, "add_rms_norm C0: has 1 inputs, expected 3"},
      {op,
       {"f32[2, 4]", "f32[2, 5]", "f32[4]"},
       "add_rms_norm C1: type(r) is f32[2, 5], expected f32[2, 4]"},
      {op, {"f32[2, 4]", "f32[2, 4]", "f32[5]"}, "add_rms_norm C2: shape(w) is [5], expected [4]"},
      {op,
       {"f32[2, 4]", "f32[2, 4]", "bf16[4]"},
       "add_rms_norm C3: dtype(w) is bf16, expected f32"},
      {AddRmsNorm{.eps = 0},
       {"f32[2, 4]", "f32[2, 4]", "f32[4]"},
       "add_rms_norm C4: eps is 0, expected > 0"},
  });
}

}  // namespace
}  // namespace parhelion::ir
