#include "ir/ops/sample.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

/// Operands of Sample with one replaced.
Refusal sample_refusal(std::size_t operand, std::string_view type, std::string message) {
  Refusal refusal{Sample{},
                  {"f32[2, 9]", "f32[2]", "i32[2]", "f32[2]", "f32[2]", "u64[2]", "u64[2]"},
                  "sample " + std::move(message)};
  refusal.inputs[operand] = type;
  return refusal;
}

TEST(Sample, ChecksItsOperands) {
  expect_refusals({
      {Sample{}, {}, "sample C0: has 0 inputs, expected 7"},
      sample_refusal(0, "f32[9]", "C1: rank(logits) is 1, expected 2"),
      sample_refusal(0, "bf16[2, 9]", "C1: dtype(logits) is bf16, expected f32"),
      sample_refusal(1, "f32[3]", "C2: type(temperature) is f32[3], expected f32[2]"),
      sample_refusal(2, "f32[2]", "C2: type(top_k) is f32[2], expected i32[2]"),
      sample_refusal(3, "f32[]", "C2: type(top_p) is f32[], expected f32[2]"),
      sample_refusal(4, "bf16[2]", "C2: type(min_p) is bf16[2], expected f32[2]"),
      sample_refusal(5, "i64[2]", "C2: type(seed) is i64[2], expected u64[2]"),
      sample_refusal(6, "u64[9]", "C2: type(offset) is u64[9], expected u64[2]"),
  });
}

}  // namespace
}  // namespace parhelion::ir
