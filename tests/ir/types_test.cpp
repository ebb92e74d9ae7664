#include "ir/expect_error.h"
#include "ir/tensor_type.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

Capacities tokens(std::int64_t count) {
  Capacities result;
  result[Symbol::tokens] = count;
  return result;
}

Dim half_of_tokens() {
  Dim dim(Symbol::tokens, 3, 1);
  dim.divisor = 2;
  return dim;
}

TEST(Dim, PrintsItsFormula) {
  EXPECT_EQ(to_string(Dim(7)), "7");
  EXPECT_EQ(to_string(Dim(Symbol::rows)), "rows");
  EXPECT_EQ(to_string(Dim(Symbol::rows, 1, 1)), "rows+1");
  EXPECT_EQ(to_string(Dim(Symbol::rows, 4, -1)), "4*rows-1");
  EXPECT_EQ(to_string(half_of_tokens()), "3*tokens/2+1");
}

TEST(Dim, EvaluatesUnderCapacities) {
  EXPECT_EQ(evaluate(Dim(7), Capacities{}), 7);
  EXPECT_EQ(evaluate(Dim(Symbol::tokens, 2, 1), tokens(5)), 11);
  EXPECT_EQ(evaluate(half_of_tokens(), tokens(4)), 7);
  EXPECT_EQ(evaluate(Shape{Symbol::tokens, 3}, tokens(5)), (Shape{5, 3}));
}

TEST(Dim, RefusesMissingAndUnevenCapacities) {
  expect_error(ErrorKind::invalid, "capacities: tokens is 0, expected a positive number",
               [] { evaluate(Dim(Symbol::tokens), Capacities{}); });
  expect_error(ErrorKind::invalid, "capacities: tokens is 5, but 3*tokens/2+1 needs a multiple",
               [] { evaluate(half_of_tokens(), tokens(5)); });
  expect_error(ErrorKind::invalid, "dim: 4 times 4611686018427387904 does not fit in 64 bits",
               [] { evaluate(Dim(Symbol::tokens, 4), tokens(std::int64_t{1} << 62)); });
}

TEST(Dim, IsNoNumberWhileSymbolic) {
  expect_error(ErrorKind::bug, "dim: tokens is symbolic, expected a number",
               [] { number(Symbol::tokens); });
}

TEST(ElementCount, MultipliesNumbersIntoOneSymbol) {
  EXPECT_EQ(element_count(Shape{}), Dim(1));
  EXPECT_EQ(element_count(Shape{2, 3, 4}), Dim(24));
  EXPECT_EQ(element_count(Shape{2, Symbol::tokens, 4}), Dim(Symbol::tokens, 8));
  EXPECT_EQ(element_count(Shape{2, Dim(Symbol::rows, 1, 1)}), Dim(Symbol::rows, 2, 2));
}

TEST(ElementCount, RefusesTwoSymbolsAndOverflow) {
  expect_error(ErrorKind::invalid,
               "shape [rows, tokens]: has two symbolic dims, expected at most one", [] {
                 element_count(Shape{Symbol::rows, Symbol::tokens});
               });
  const std::int64_t big = std::int64_t{1} << 32;
  expect_error(ErrorKind::invalid, "dim: 4294967296 times 4294967296 does not fit in 64 bits", [&] {
    element_count(Shape{big, big});
  });
}

TEST(TensorType, PrintsKindAndShape) {
  EXPECT_EQ(to_string(TensorType(Kind::bf16, {Symbol::tokens, 576})), "bf16[tokens, 576]");
  EXPECT_EQ(to_string(TensorType(Kind::f32, {})), "f32[]");
}

TEST(TensorType, CountsBytesOfPlainAndBlockKinds) {
  EXPECT_EQ(byte_count(TensorType(Kind::f32, {})), 4);
  EXPECT_EQ(byte_count(TensorType(Kind::bf16, {3, 5})), 30);
  EXPECT_EQ(byte_count(TensorType(Kind::q8_0, {3, 64})), 3 * 2 * 34);
  EXPECT_EQ(byte_count(TensorType(Kind::q4_0, {32})), 18);
  EXPECT_EQ(byte_count(TensorType(Kind::q4_1, {32})), 20);
  EXPECT_EQ(byte_count(TensorType(Kind::q5_0, {32})), 22);
  EXPECT_EQ(byte_count(TensorType(Kind::q6_k, {2, 512})), 2 * 2 * 210);
}

TEST(TensorType, RefusesBytesThatItCannotCount) {
  expect_error(ErrorKind::invalid,
               "type q8_0[2, 48]: last dim is no multiple of the block of 32 elements", [] {
                 byte_count(TensorType(Kind::q8_0, {2, 48}));
               });
  expect_error(ErrorKind::invalid, "type f32[4611686018427387904]: its bytes do not fit in 64 bits",
               [] { byte_count(TensorType(Kind::f32, {std::int64_t{1} << 62})); });
}

TEST(Kind, IsFoundByTheNameThatItPrints) {
  for (int i = 0; i <= static_cast<int>(Kind::q6_k); ++i) {
    const auto kind = static_cast<Kind>(i);
    EXPECT_EQ(kind_from_name(name(kind)), kind);
  }
  EXPECT_EQ(kind_from_name("f8"), std::nullopt);
}

TEST(Kind, KnowsPlainAndRealFormats) {
  EXPECT_TRUE(is_plain(Kind::bf16));
  EXPECT_FALSE(is_plain(Kind::q4_0));
  EXPECT_TRUE(is_real(Kind::q8_0));
  EXPECT_FALSE(is_real(Kind::i32));
}

}  // namespace
}  // namespace parhelion::ir
