#include "ir/ops/edit_logits.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

/// Operands of EditLogits with one replaced.
Refusal edit_refusal(std::size_t operand, std::string_view type, std::string message) {
  Refusal refusal{EditLogits{},
                  {"f32[2, 65]", "i32[3]", "i32[7]", "f32[7]", "f32[7]", "f32[7]", "i32[2, 3]"},
                  "edit_logits " + std::move(message)};
  refusal.inputs[operand] = type;
  return refusal;
}

TEST(EditLogits, ChecksItsOperands) {
  expect_refusals({
      {EditLogits{}, {}, "edit_logits C0: has 0 inputs, expected 7"},
      edit_refusal(0, "f32[65]", "C1: rank(logits) is 1, expected 2"),
      edit_refusal(0, "bf16[2, 65]", "C1: dtype(logits) is bf16, expected f32"),
      edit_refusal(1, "i32[2]", "C2: type(edit_indptr) is i32[2], expected i32[3]"),
      edit_refusal(2, "i32[7, 1]", "C3: rank(edit_ids) is 2, expected 1"),
      edit_refusal(2, "i64[7]", "C3: dtype(edit_ids) is i64, expected i32"),
      edit_refusal(3, "f32[6]", "C4: type(edit_bias) is f32[6], expected f32[7]"),
      edit_refusal(4, "bf16[7]", "C4: type(edit_scale) is bf16[7], expected f32[7]"),
      edit_refusal(5, "f32[]", "C4: type(edit_subtract) is f32[], expected f32[7]"),
      edit_refusal(6, "i32[2, 2]", "C5: type(mask) is i32[2, 2], expected i32[2, 3]"),
  });
}

TEST(EditLogits, HasAMaskWordForEveryStartedThirtyTwoIds) {
  EXPECT_EQ(mask_words(1), 1);
  EXPECT_EQ(mask_words(32), 1);
  EXPECT_EQ(mask_words(33), 2);
  EXPECT_EQ(mask_words(0), 0);
}

}  // namespace
}  // namespace parhelion::ir
