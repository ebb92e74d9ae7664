#include "ir/ops/top_log_probabilities.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(TopLogProbabilities, ChecksItsOperandAndCount) {
  const TopLogProbabilities op{5};
  expect_refusals({
      {op, {}, "top_log_probabilities C0: has 0 inputs, expected 1"},
      {op, {"f32[9]"}, "top_log_probabilities C1: rank(logits) is 1, expected 2"},
      {op, {"bf16[2, 9]"}, "top_log_probabilities C1: dtype(logits) is bf16, expected f32"},
      {TopLogProbabilities{0},
       {"f32[2, 9]"},
       "top_log_probabilities C2: count is 0, expected 1 to 32"},
      {TopLogProbabilities{33},
       {"f32[2, 90]"},
       "top_log_probabilities C2: count is 33, expected 1 to 32"},
  });
}

}  // namespace
}  // namespace parhelion::ir
