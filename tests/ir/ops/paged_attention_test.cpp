#include "ir/ops/paged_attention.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

/// Operands of PagedAttention with one replaced.
Refusal paged_refusal(std::size_t operand, std::string_view type, std::string message) {
  Refusal refusal{PagedAttention{},
                  {"f32[tokens, 4, 8]", "f32[pages, 16, 2, 8]", "f32[pages, 16, 2, 8]",
                   "i32[rows, pages_per_row]", "i32[rows+1]", "i32[rows]"},
                  "paged_attention " + std::move(message)};
  refusal.inputs[operand] = type;
  return refusal;
}

TEST(PagedAttention, ChecksQueriesAndPages) {
  Refusal odd_pages = paged_refusal(1, "f32[pages, 24, 2, 8]",
                                    "C8: page_tokens is 24, expected a divisor or multiple of 128");
  odd_pages.inputs[2] = odd_pages.inputs[1];
  expect_refusals({
      {PagedAttention{}, {}, "paged_attention C0: has 0 inputs, expected 6"},
      paged_refusal(0, "f32[tokens, 32]", "C1: rank(q) is 2, expected 3"),
      paged_refusal(1, "f32[pages, 16, 16]", "C1: rank(key_pages) is 3, expected 4"),
      paged_refusal(0, "i32[tokens, 4, 8]", "C1: dtype(q) is i32, expected f32 or bf16"),
      paged_refusal(1, "bf16[pages, 16, 2, 8]", "C1: dtype(key_pages) is bf16, expected f32"),
      paged_refusal(1, "f32[pages, 16, 3, 8]",
                    "C2: shape(key_pages) is [pages, 16, 3, 8], expected last dim 8 and heads that "
                    "divide 4"),
      paged_refusal(1, "f32[pages, 16, 2, 4]",
                    "C2: shape(key_pages) is [pages, 16, 2, 4], expected last dim 8 and heads that "
                    "divide 4"),
      paged_refusal(2, "f32[pages, 8, 2, 8]",
                    "C3: type(value_pages) is f32[pages, 8, 2, 8], expected f32[pages, 16, 2, 8]"),
      odd_pages,
  });
}

TEST(PagedAttention, ChecksTablesAndAttributes) {
  Refusal scale = paged_refusal(5, "i32[rows]", "C7: scale 0, window 0, expected > 0 and >= 0");
  scale.op = PagedAttention{.scale = 0};
  expect_refusals({
      paged_refusal(3, "i32[rows]", "C4: rank(page_table) is 1, expected 2"),
      paged_refusal(3, "i64[rows, pages_per_row]", "C4: dtype(page_table) is i64, expected i32"),
      paged_refusal(4, "i32[rows]", "C5: type(query_indptr) is i32[rows], expected i32[rows+1]"),
      paged_refusal(5, "i32[rows+1]", "C6: type(kv_length) is i32[rows+1], expected i32[rows]"),
      scale,
  });
}

}  // namespace
}  // namespace parhelion::ir
