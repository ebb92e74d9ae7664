#include "ir/ops/reduce.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(Reduce, ChecksItsOperands) {
  expect_refusals({
      {Reduce{}, {}, "reduce C0: has 0 inputs, expected 1"},
      {Reduce{}, {"bf16[2]"}, "reduce C1: dtype(x) is bf16, expected f32"},
      {Reduce{ReduceFunction::sum, -1},
       {"f32[2]"},
       "reduce C2: axis is -1, expected 0 to rank(x) - 1 = 0"},
      {Reduce{ReduceFunction::sum, 2},
       {"f32[2, 3]"},
       "reduce C2: axis is 2, expected 0 to rank(x) - 1 = 1"},
      {Reduce{}, {"f32[]"}, "reduce C2: axis is 0, expected 0 to rank(x) - 1 = -1"},
  });
}

TEST(Broadcast, ChecksItsOperands) {
  expect_refusals({
      {Broadcast{}, {}, "broadcast C0: has 0 inputs, expected 1"},
      {Broadcast{}, {"bf16[2]"}, "broadcast C1: dtype(x) is bf16, expected f32"},
  });
}

TEST(AccumulateRows, ChecksItsOperands) {
  const AccumulateRows op;
  expect_refusals({
      {op, {"f32[2, 4]"}, "accumulate_rows C0: has 1 inputs, expected 2"},
      {op, {"f32[4]", "f32[4]"}, "accumulate_rows C1: rank(dy) is 1, expected 2"},
      {op, {"i32[2, 4]", "f32[4]"}, "accumulate_rows C1: dtype(dy) is i32, expected f32 or bf16"},
      {op, {"f32[2, 4]", "f32[2]"}, "accumulate_rows C2: type(acc) is f32[2], expected f32[4]"},
      {op, {"bf16[2, 4]", "bf16[4]"}, "accumulate_rows C2: type(acc) is bf16[4], expected f32[4]"},
  });
}

}  // namespace
}  // namespace parhelion::ir
