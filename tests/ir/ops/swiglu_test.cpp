#include "ir/ops/swiglu.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(Swiglu, ChecksItsOperands) {
  expect_refusals({
      {Swiglu{}, {"f32[2]"}, "swiglu C0: has 1 inputs, expected 2"},
      {Swiglu{}, {"i32[2]", "i32[2]"}, "swiglu C1: dtype(gate) is i32, expected f32 or bf16"},
      {Swiglu{}, {"f32[2]", "bf16[2]"}, "swiglu C2: type(up) is bf16[2], expected f32[2]"},
  });
}

TEST(SwigluGrad, ChecksItsOperands) {
  const SwigluGrad op;
  expect_refusals({
      {op, {"f32[2]"}, "swiglu_grad C0: has 1 inputs, expected 3"},
      {op, {"u8[2]", "u8[2]", "u8[2]"}, "swiglu_grad C1: dtype(gate) is u8, expected f32 or bf16"},
      {op, {"f32[2]", "f32[3]", "f32[2]"}, "swiglu_grad C2: type(up) is f32[3], expected f32[2]"},
      {op, {"f32[2]", "f32[2]", "f32[]"}, "swiglu_grad C2: type(dh) is f32[], expected f32[2]"},
  });
}

TEST(GateUp, ChecksItsOperands) {
  const GateUp op;
  expect_refusals({
      {op, {"f32[2, 3]"}, "gate_up C0: has 1 inputs, expected 3"},
      {op, {"f32[3]", "f32[5, 3]", "f32[5, 3]"}, "gate_up C1: rank(x) is 1, expected 2"},
      {op, {"f32[2, 3]", "f32[3]", "f32[3]"}, "gate_up C1: rank(gate) is 1, expected 2"},
      {op,
       {"f32[2, 3]", "f32[3, 5]", "f32[3, 5]"},
       "gate_up C2: shape(gate) is [3, 5], expected [3, 3]"},
      {op,
       {"f16[2, 3]", "f32[5, 3]", "f32[5, 3]"},
       "gate_up C3: dtype(x) is f16, expected f32 or bf16"},
      {op,
       {"f32[2, 3]", "f16[5, 3]", "f16[5, 3]"},
       "gate_up C3: dtype(gate) is f16, expected f32 or bf16"},
      {op,
       {"f32[2, 3]", "f32[5, 3]", "f32[6, 3]"},
       "gate_up C4: type(up) is f32[6, 3], expected f32[5, 3]"},
  });
}

}  // namespace
}  // namespace parhelion::ir
