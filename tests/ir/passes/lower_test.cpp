#include "ir/passes/lower.h"

#include "ir/autodiff/differentiate.h"
#include "ir/expect_error.h"
#include "ir/passes/instantiate.h"
#include "ir/transformer_program.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace parhelion::ir {
namespace {

Program train_program() {
  Program program;
  program.name = "train";
  differentiate(program, TransformerProgram(program, {.layers = 2}).add_train());
  return program;
}

Capacities train_capacities() {
  Capacities result;
  result[Symbol::tokens] = 16;
  result[Symbol::documents] = 3;
  return result;
}

bool is_numeric(const Shape& shape) { return std::ranges::all_of(shape, &Dim::is_number); }

TEST(Instantiate, LeavesNumbersOnly) {
  const Program instance = instantiate(train_program(), train_capacities());
  for (const Buffer& buffer : instance.buffers) EXPECT_TRUE(is_numeric(buffer.type.shape));
  for (const Value& value : instance.values) EXPECT_TRUE(is_numeric(value.type.shape));
  EXPECT_EQ(instance.at(find_buffer(instance, "document_indptr")).type, TensorType(Kind::i32, {4}));
}

TEST(Instantiate, ReplacesSymbolsOfAttributesAndViews) {
  Program program;
  Builder builder(program);
  const Shape shape{Symbol::tokens, 2};
  const ValueId x = builder.input("x", TensorType(Kind::f32, shape));
  builder.one(Reshape{{2, Symbol::tokens}}, {x});
  program.ops[0].inputs[0].shape = shape;
  const Program instance = instantiate(program, train_capacities());
  EXPECT_EQ(instance.ops[0].op, Op(Reshape{{2, 16}}));
  EXPECT_EQ(instance.ops[0].inputs[0].shape, (Shape{16, 2}));
}

TEST(Instantiate, ReplacesSymbolsOfInits) {
  Program program;
  Builder builder(program);
  builder.constant("ones", Fill{.value = 1.0, .shape = {Symbol::tokens, 2}});
  const Program instance = instantiate(program, train_capacities());
  EXPECT_EQ(*instance.buffers[0].init, Op(Fill{.value = 1.0, .shape = {16, 2}}));
  EXPECT_NO_THROW(verify(instance));
}

TEST(Instantiate, NeedsEverySymbolOfTheProgram) {
  expect_error(ErrorKind::invalid, "capacities: tokens is 0, expected a positive number",
               [] { instantiate(train_program(), Capacities{}); });
}

TEST(Lower, FusesFoldsAndInstantiates) {
  const Program instance = lower(train_program(), train_capacities());
  for (const OpNode& node : instance.ops) {
    EXPECT_FALSE(std::holds_alternative<Reshape>(node.op));
    EXPECT_FALSE(node.phase == Phase::forward && std::holds_alternative<Binary>(node.op));
  }
}

TEST(Lower, RefusesAMalformedProgram) {
  Program program = train_program();
  program.ops[0].label = 99;
  expect_error(ErrorKind::invalid,
               "verify P1: op 1 embedding: label 99 does not exist, there are 6",
               [&] { lower(program, train_capacities()); });
}

}  // namespace
}  // namespace parhelion::ir
