#include "ir/ops/page_write.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(PageWrite, ChecksItsOperands) {
  const PageWrite op;
  expect_refusals({
      {op, {}, "page_write C0: has 0 inputs, expected 3"},
      {op,
       {"f32[6, 8]", "i64[6]", "f32[pages, 16, 2, 8]"},
       "page_write C1: rank(x) is 2, expected 3"},
      {op,
       {"f32[tokens, 2, 8]", "i32[tokens]", "f32[pages, 16, 2, 8]"},
       "page_write C2: type(location) is i32[tokens], expected i64[tokens]"},
      {op,
       {"f32[6, 2, 8]", "i64[6]", "f32[16, 2, 8]"},
       "page_write C3: rank(pages) is 3, expected 4"},
      {op,
       {"f32[6, 2, 8]", "i64[6]", "bf16[pages, 16, 2, 8]"},
       "page_write C3: type(pages) is bf16[pages, 16, 2, 8], expected f32[pages, 16, 2, 8]"},
      {op,
       {"f32[6, 2, 8]", "i64[6]", "f32[pages, 16, 8, 2]"},
       "page_write C3: type(pages) is f32[pages, 16, 8, 2], expected f32[pages, 16, 2, 8]"},
  });
}

}  // namespace
}  // namespace parhelion::ir
