#include "ir/ops/tensor.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(Fill, ChecksItsAttributes) {
  expect_refusals({
      {Fill{}, {"f32[]"}, "fill C0: has 1 inputs, expected 0"},
      {Fill{.kind = Kind::i32}, {}, "fill C1: dtype(y) is i32, expected f32 or bf16"},
  });
}

TEST(Reshape, ChecksTheNumberOfElements) {
  expect_refusals({
      {Reshape{}, {}, "reshape C0: has 0 inputs, expected 1"},
      {Reshape{{5}}, {"f32[2, 3]"}, "reshape C1: x has 6 elements, shape [5] has 5"},
      {Reshape{{Symbol::tokens, 3}},
       {"f32[tokens, 4]"},
       "reshape C1: x has 4*tokens elements, shape [tokens, 3] has 3*tokens"},
      {Reshape{{Symbol::rows, 4}},
       {"f32[tokens, 4]"},
       "reshape C1: x has 4*tokens elements, shape [rows, 4] has 4*rows"},
      {Reshape{{4}},
       {"f32[tokens, rows]"},
       "shape [tokens, rows]: has two symbolic dims, expected at most one"},
  });
}

}  // namespace
}  // namespace parhelion::ir
