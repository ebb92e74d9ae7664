#include "ir/ops/attention.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(Attention, ChecksItsOperands) {
  const Attention op;
  expect_refusals({
      {op, {"f32[6, 4, 8]"}, "attention C0: has 1 inputs, expected 4"},
      {op,
       {"f32[6, 8]", "f32[6, 2, 8]", "f32[6, 2, 8]", "i32[3]"},
       "attention C1: rank(q) is 2, expected 3"},
      {op,
       {"f32[6, 4, 8]", "f32[6, 8]", "f32[6, 8]", "i32[3]"},
       "attention C1: rank(k) is 2, expected 3"},
      {op,
       {"f16[6, 4, 8]", "f16[6, 2, 8]", "f16[6, 2, 8]", "i32[3]"},
       "attention C1: dtype(q) is f16, expected f32 or bf16"},
      {op,
       {"bf16[6, 4, 8]", "f32[6, 2, 8]", "f32[6, 2, 8]", "i32[3]"},
       "attention C1: dtype(k) is f32, expected bf16"},
      {op,
       {"f32[6, 4, 8]", "f32[7, 2, 8]", "f32[7, 2, 8]", "i32[3]"},
       "attention C2: shape(k) is [7, 2, 8], expected [6, 2, 8]"},
      {op,
       {"f32[6, 4, 8]", "f32[6, 3, 8]", "f32[6, 3, 8]", "i32[3]"},
       "attention C2: 4 query heads over 3 key heads, expected a multiple"},
      {op,
       {"f32[6, 4, 8]", "f32[6, 0, 8]", "f32[6, 0, 8]", "i32[3]"},
       "attention C2: 4 query heads over 0 key heads, expected a multiple"},
      {op,
       {"f32[6, 4, 8]", "f32[6, 2, 8]", "f32[6, 4, 8]", "i32[3]"},
       "attention C3: type(v) is f32[6, 4, 8], expected f32[6, 2, 8]"},
      {op,
       {"f32[6, 4, 8]", "f32[6, 2, 8]", "f32[6, 2, 8]", "i32[3, 1]"},
       "attention C4: rank(document_indptr) is 2, expected 1"},
      {op,
       {"f32[6, 4, 8]", "f32[6, 2, 8]", "f32[6, 2, 8]", "i64[3]"},
       "attention C4: dtype(document_indptr) is i64, expected i32"},
      {Attention{.scale = 0},
       {"f32[6, 4, 8]", "f32[6, 2, 8]", "f32[6, 2, 8]", "i32[3]"},
       "attention C5: scale 0, window 0, expected > 0 and >= 0"},
      {Attention{.window = -1},
       {"f32[6, 4, 8]", "f32[6, 2, 8]", "f32[6, 2, 8]", "i32[3]"},
       "attention C5: scale 1, window -1, expected > 0 and >= 0"},
      {Attention{.longest = -1},
       {"f32[6, 4, 8]", "f32[6, 2, 8]", "f32[6, 2, 8]", "i32[3]"},
       "attention C5: longest -1, expected >= 0"},
  });
}

/// Operands of AttentionGrad with one replaced.
Refusal attention_grad_refusal(std::size_t operand, std::string_view type, std::string message) {
  Refusal refusal{AttentionGrad{},
                  {"f32[6, 4, 8]", "f32[6, 2, 8]", "f32[6, 2, 8]", "f32[6, 4, 8]", "f32[6, 4]",
                   "f32[6, 4, 8]", "i32[3]"},
                  "attention_grad " + std::move(message)};
  refusal.inputs[operand] = type;
  return refusal;
}

TEST(AttentionGrad, ChecksItsOperands) {
  expect_refusals({
      {AttentionGrad{}, {}, "attention_grad C0: has 0 inputs, expected 7"},
      attention_grad_refusal(0, "f32[6, 32]", "C1: rank(q) is 2, expected 3"),
      attention_grad_refusal(1, "f32[6, 2, 4]", "C2: shape(k) is [6, 2, 4], expected [6, 2, 8]"),
      attention_grad_refusal(2, "f32[6, 1, 8]",
                             "C3: type(v) is f32[6, 1, 8], expected f32[6, 2, 8]"),
      attention_grad_refusal(6, "i32[]", "C4: rank(document_indptr) is 0, expected 1"),
      attention_grad_refusal(3, "bf16[6, 4, 8]",
                             "C6: type(o) is bf16[6, 4, 8], expected f32[6, 4, 8]"),
      attention_grad_refusal(5, "f32[6, 2, 8]",
                             "C6: type(do) is f32[6, 2, 8], expected f32[6, 4, 8]"),
      attention_grad_refusal(4, "f32[4, 6]", "C7: type(lse) is f32[4, 6], expected f32[6, 4]"),
  });
}

TEST(AttentionGrad, ChecksItsAttributes) {
  Refusal refusal =
      attention_grad_refusal(6, "i32[3]", "C5: scale -1, window 0, expected > 0 and >= 0");
  refusal.op = AttentionGrad{.scale = -1};
  expect_refusals({refusal});
}

}  // namespace
}  // namespace parhelion::ir
