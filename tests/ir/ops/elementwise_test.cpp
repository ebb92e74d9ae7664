#include "ir/ops/elementwise.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(Binary, ChecksItsOperands) {
  expect_refusals({
      {Binary{}, {"f32[2]"}, "binary C0: has 1 inputs, expected 2"},
      {Binary{}, {"i32[2]", "i32[2]"}, "binary C1: dtype(a) is i32, expected f32 or bf16"},
      {Binary{}, {"f32[2]", "f32[]"}, "binary C2: type(b) is f32[], expected f32[2]"},
      {Binary{}, {"f32[2]", "bf16[2]"}, "binary C2: type(b) is bf16[2], expected f32[2]"},
  });
}

TEST(Cast, ChecksItsOperands) {
  expect_refusals({
      {Cast{}, {}, "cast C0: has 0 inputs, expected 1"},
      {Cast{}, {"i64[2]"}, "cast C1: dtype(x) is i64, expected f32 or bf16"},
      {Cast{Kind::f16}, {"f32[2]"}, "cast C2: dtype(y) is f16, expected f32 or bf16"},
  });
}

}  // namespace
}  // namespace parhelion::ir
