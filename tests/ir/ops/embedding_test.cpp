#include "ir/ops/embedding.h"

#include "ir/op_checks.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(Embedding, ChecksItsOperands) {
  expect_refusals({
      {Embedding{}, {"i32[2]"}, "embedding C0: has 1 inputs, expected 2"},
      {Embedding{}, {"i32[2, 1]", "f32[8, 4]"}, "embedding C1: rank(ids) is 2, expected 1"},
      {Embedding{}, {"i64[2]", "f32[8, 4]"}, "embedding C1: dtype(ids) is i64, expected i32"},
      {Embedding{}, {"i32[2]", "f32[8]"}, "embedding C2: rank(table) is 1, expected 2"},
      {Embedding{},
       {"i32[2]", "i8[8, 4]"},
       "embedding C2: dtype(table) is i8, expected f32 or bf16"},
  });
}

TEST(EmbeddingGrad, ChecksItsOperands) {
  const EmbeddingGrad op;
  expect_refusals({
      {op, {"i32[2]"}, "embedding_grad C0: has 1 inputs, expected 3"},
      {op, {"i32[]", "f32[2, 4]", "f32[8, 4]"}, "embedding_grad C1: rank(ids) is 0, expected 1"},
      {op,
       {"f32[2]", "f32[2, 4]", "f32[8, 4]"},
       "embedding_grad C1: dtype(ids) is f32, expected i32"},
      {op,
       {"i32[2]", "i32[2, 4]", "f32[8, 4]"},
       "embedding_grad C2: dtype(dy) is i32, expected f32 or bf16"},
      {op,
       {"i32[tokens]", "f32[tokens, 5]", "f32[8, 4]"},
       "embedding_grad C2: shape(dy) is [tokens, 5], expected [tokens, 4]"},
      {op, {"i32[2]", "f32[2, 4]", "f32[8]"}, "embedding_grad C3: rank(acc) is 1, expected 2"},
      {op,
       {"i32[2]", "f32[2, 4]", "bf16[8, 4]"},
       "embedding_grad C3: dtype(acc) is bf16, expected f32"},
  });
}

}  // namespace
}  // namespace parhelion::ir
