#include "ir/ops/copy_pages.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(CopyPages, ChecksItsOperands) {
  const CopyPages op;
  expect_refusals({
      {op, {}, "copy_pages C0: has 0 inputs, expected 3"},
      {op,
       {"i32[4, 1]", "i32[4]", "f32[pages, 16]"},
       "copy_pages C1: rank(source) is 2, expected 1"},
      {op,
       {"i64[4]", "i64[4]", "f32[pages, 16]"},
       "copy_pages C1: dtype(source) is i64, expected i32"},
      {op,
       {"i32[4]", "i32[5]", "f32[pages, 16]"},
       "copy_pages C2: type(destination) is i32[5], expected i32[4]"},
      {op,
       {"i32[4]", "i32[4]", "f32[pages]"},
       "copy_pages C3: rank(pages) is 1, expected 2 or more"},
  });
}

TEST(CopyPages, MovesEachPageOnceThere) {
  const std::vector<TensorType> types = types_from_text({"i32[3]", "i32[3]", "bf16[9, 16, 2, 8]"});
  EXPECT_EQ(cost(CopyPages{}, types, Types(types).last(1)).bytes, 2.0 * 3 * 16 * 2 * 8 * 2);
}

TEST(CopyPages, CutsNoBlocks) {
  const std::vector<TensorType> plain = types_from_text({"i32[3]", "i32[3]", "bf16[9, 16, 64]"});
  const std::vector<TensorType> blocks = types_from_text({"i32[3]", "i32[3]", "q8_0[9, 16, 64]"});
  EXPECT_EQ(factors(CopyPages{}, plain).back().how, Fold::parallel);
  EXPECT_EQ(factors(CopyPages{}, blocks).back().how, Fold::whole);
  EXPECT_EQ(page_bytes(blocks[2]), 16 * 2 * 34);
}

}  // namespace
}  // namespace parhelion::ir
