#include "ir/ops/drawn_tokens.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(FeedTokens, ChecksItsOperands) {
  const FeedTokens op;
  expect_refusals({
      {op, {}, "feed_tokens C0: has 0 inputs, expected 3"},
      {op, {"i32[6, 1]", "i32[6]", "i32[4]"}, "feed_tokens C1: rank(ids) is 2, expected 1"},
      {op, {"i64[6]", "i32[6]", "i32[4]"}, "feed_tokens C1: dtype(ids) is i64, expected i32"},
      {op,
       {"i32[tokens]", "i32[rows]", "i32[4]"},
       "feed_tokens C2: type(source) is i32[rows], expected i32[tokens]"},
      {op, {"i32[6]", "i32[6]", "i32[]"}, "feed_tokens C3: rank(drawn) is 0, expected 1"},
      {op, {"i32[6]", "i32[6]", "f32[4]"}, "feed_tokens C3: dtype(drawn) is f32, expected i32"},
  });
}

TEST(KeepTokens, ChecksItsOperands) {
  const KeepTokens op;
  expect_refusals({
      {op, {"i32[6]", "i32[6]"}, "keep_tokens C0: has 2 inputs, expected 3"},
      {op, {"f32[6]", "i32[6]", "i32[4]"}, "keep_tokens C1: dtype(sampled) is f32, expected i32"},
      {op, {"i32[6]", "i32[5]", "i32[4]"}, "keep_tokens C2: type(slot) is i32[5], expected i32[6]"},
      {op, {"i32[6]", "i32[6]", "i64[4]"}, "keep_tokens C3: dtype(drawn) is i64, expected i32"},
  });
}

}  // namespace
}  // namespace parhelion::ir
