#include "ir/ops/update.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(AdamUpdate, ChecksItsOperands) {
  const AdamUpdate op;
  expect_refusals({
      {op, {"f32[2]"}, "adam_update C0: has 1 inputs, expected 8"},
      {op,
       {"i32[2]", "f32[2]", "f32[2]", "f32[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C1: dtype(p) is i32, expected f32 or bf16"},
      {op,
       {"bf16[2]", "bf16[2]", "f32[2]", "f32[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C2: type(g) is bf16[2], expected f32[2]"},
      {op,
       {"f32[2]", "f32[2]", "f32[3]", "f32[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C3: shape(m) is [3], expected [2]"},
      {op,
       {"f32[2]", "f32[2]", "f32[2]", "bf16[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C4: type(v) is bf16[2], expected f32[2]"},
      {op,
       {"f32[2]", "f32[2]", "f32[2]", "f32[2]", "f32[]", "f32[]", "f32[]", "u64[]"},
       "adam_update C5: type(correction) is f32[], expected f32[2]"},
      {AdamUpdate{.beta2 = 1},
       {"f32[2]", "f32[2]", "f32[2]", "f32[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C6: beta2 is 1, expected [0, 1)"},
      {AdamUpdate{.eps = 0},
       {"f32[2]", "f32[2]", "f32[2]", "f32[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C6: eps is 0, expected more than 0"},
      {AdamUpdate{.amsgrad = true},
       {"f32[2]", "f32[2]", "f32[2]", "f32[2]", "bf16[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C4: type(v_max) is bf16[2], expected f32[2]"},
      {AdamUpdate{.amsgrad = true, .master = true},
       {"f32[2]"},
       "adam_update C0: has 1 inputs, expected 10"},
      {AdamUpdate{.master = true},
       {"f32[2]", "f32[2]", "f32[2]", "f32[2]", "f32[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C7: type(p) is f32[2], expected bf16[2]"},
      {AdamUpdate{.master = true},
       {"bf16[2]", "f32[2]", "f32[2]", "f32[2]", "bf16[2]", "f32[]", "f32[]", "f32[2]", "u64[]"},
       "adam_update C7: type(w) is bf16[2], expected f32[2]"},
  });
}

TEST(SgdUpdate, ChecksItsOperands) {
  const SgdUpdate op;
  expect_refusals({
      {op, {"f32[2]"}, "sgd_update C0: has 1 inputs, expected 6"},
      {SgdUpdate{.momentum = 0.9}, {"f32[2]"}, "sgd_update C0: has 1 inputs, expected 7"},
      {op,
       {"i32[2]", "f32[2]", "f32[]", "f32[]", "f32[]", "u64[]"},
       "sgd_update C1: dtype(p) is i32, expected f32 or bf16"},
      {op,
       {"f32[2]", "f32[3]", "f32[]", "f32[]", "f32[]", "u64[]"},
       "sgd_update C2: type(g) is f32[3], expected f32[2]"},
      {SgdUpdate{.momentum = 0.9},
       {"f32[2]", "f32[2]", "i32[2]", "f32[]", "f32[]", "f32[]", "u64[]"},
       "sgd_update C3: dtype(b) is i32, expected f32 or bf16"},
      {op,
       {"f32[2]", "f32[2]", "f32[]", "f32[]", "f32[]", "i64[]"},
       "sgd_update C4: type(seed) is i64[], expected u64[]"},
      {SgdUpdate{.momentum = -1},
       {"f32[2]", "f32[2]", "f32[2]", "f32[]", "f32[]", "f32[]", "u64[]"},
       "sgd_update C5: momentum is -1, expected at least 0"},
      {SgdUpdate{.momentum = 0.9, .master = true},
       {"bf16[2]", "f32[2]", "f32[2]", "f32[3]", "f32[]", "f32[]", "f32[]", "u64[]"},
       "sgd_update C6: type(w) is f32[3], expected f32[2]"},
      {SgdUpdate{.master = true},
       {"f32[2]", "f32[2]", "f32[2]", "f32[]", "f32[]", "f32[]", "u64[]"},
       "sgd_update C6: type(p) is f32[2], expected bf16[2]"},
  });
}

}  // namespace
}  // namespace parhelion::ir
