#include "ir/ops/adapt.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(Scale, ChecksItsOperands) {
  expect_refusals({
      {Scale{}, {}, "scale C0: has 0 inputs, expected 1"},
      {Scale{}, {"i32[2]"}, "scale C1: dtype(x) is i32, expected f32 or bf16"},
  });
}

TEST(Dropout, ChecksItsOperands) {
  expect_refusals({
      {Dropout{}, {"f32[2]"}, "dropout C0: has 1 inputs, expected 2"},
      {Dropout{}, {"i32[2]", "u64[]"}, "dropout C1: dtype(x) is i32, expected f32 or bf16"},
      {Dropout{}, {"f32[2]", "u64[1]"}, "dropout C2: type(seed) is u64[1], expected u64[]"},
      {Dropout{.probability = 1},
       {"f32[2]", "u64[]"},
       "dropout C3: probability is 1, expected [0, 1)"},
  });
}

}  // namespace
}  // namespace parhelion::ir
