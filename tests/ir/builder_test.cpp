#include "ir/builder.h"

#include "ir/expect_error.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

class BuilderTest : public testing::Test {
 protected:
  ValueId input(std::string_view name, Shape shape) {
    return builder_.input(name, TensorType(Kind::f32, std::move(shape)));
  }

  Program program_;
  Builder builder_{program_};
};

TEST_F(BuilderTest, GivesOneValueForEachBufferName) {
  const TensorType type(Kind::f32, {2});
  EXPECT_EQ(builder_.parameter("w", type), builder_.parameter("w", type));
  EXPECT_EQ(program_.buffers.size(), 1u);
  EXPECT_EQ(find_buffer(program_, "w"), BufferId{1});
  EXPECT_FALSE(find_buffer(program_, "v"));
}

TEST_F(BuilderTest, RefusesANameWithAnotherTypeOrRole) {
  builder_.parameter("w", TensorType(Kind::f32, {2}));
  expect_error(ErrorKind::invalid, "buffer 'w': is parameter f32[2], expected parameter f32[3]",
               [&] { builder_.parameter("w", TensorType(Kind::f32, {3})); });
  expect_error(ErrorKind::invalid, "buffer 'w': is parameter f32[2], expected input f32[2]",
               [&] { input("w", {2}); });
}

TEST_F(BuilderTest, KeepsRoleLifetimeAndInit) {
  builder_.input("x", TensorType(Kind::i32, {2}), Lifetime::step);
  builder_.state("s", TensorType(Kind::f32, {}));
  builder_.constant("c", Fill{.value = 2, .shape = {3}});
  EXPECT_EQ(program_.buffers[0].lifetime, Lifetime::step);
  EXPECT_EQ(program_.buffers[1].role, Role::state);
  EXPECT_EQ(program_.buffers[2].init, Op(Fill{.value = 2, .shape = {3}}));
  EXPECT_EQ(program_.buffers[2].type, TensorType(Kind::f32, {3}));
}

TEST_F(BuilderTest, InfersOutputsAndMarksOps) {
  builder_.set_label("norm");
  builder_.set_layer(3);
  builder_.set_phase(Phase::input_grad);
  const ValueId x = input("x", {Symbol::tokens, 4});
  const ValueId y = builder_.one(Reduce{ReduceFunction::sum, 1}, {x});
  EXPECT_EQ(builder_.type(y), TensorType(Kind::f32, {Symbol::tokens}));
  const OpNode& node = program_.at(program_.at(y).producer);
  EXPECT_EQ(program_.labels[node.label], "norm");
  EXPECT_EQ(node.layer, 3);
  EXPECT_EQ(node.phase, Phase::input_grad);
}

TEST_F(BuilderTest, StoresEachLabelOnce) {
  builder_.set_label("a");
  builder_.set_label("b");
  builder_.set_label("a");
  EXPECT_EQ(program_.labels, (std::vector<std::string>{"", "a", "b"}));
}

TEST_F(BuilderTest, RefusesWhatAnOpRefuses) {
  const ValueId x = input("x", {2, 4});
  expect_error(ErrorKind::invalid, "matmul C2: b contracts 2, expected 4", [&] {
    builder_.one(MatMul{}, {x, x});
  });
  EXPECT_TRUE(program_.ops.empty());
}

TEST_F(BuilderTest, MakesTiedOutputsTheNextVersion) {
  const ValueId x = input("x", {2, 4});
  const TensorType type(Kind::f32, {4});
  const ValueId before = builder_.state("sum", type);
  const ValueId after = builder_.one(AccumulateRows{}, {x, before});
  EXPECT_EQ(program_.at(after).buffer, program_.at(before).buffer);
  EXPECT_EQ(program_.at(after).version, 1u);
  EXPECT_EQ(builder_.state("sum", type), after);
}

TEST_F(BuilderTest, GoesOnFromTheNewestVersionOfAnExistingProgram) {
  const ValueId x = input("x", {2, 4});
  const TensorType type(Kind::f32, {4});
  const ValueId after = builder_.one(AccumulateRows{}, {x, builder_.state("sum", type)});
  builder_.set_label("first");
  Builder second(program_);
  EXPECT_EQ(second.state("sum", type), after);
  second.set_label("first");
  EXPECT_EQ(program_.labels.size(), 2u);
}

TEST_F(BuilderTest, LeavesTiedActivationsWithoutBuffer) {
  const ValueId x = input("x", {2, 4});
  const ValueId zero = builder_.one(Fill{.shape = {4}}, {});
  const ValueId sum = builder_.one(AccumulateRows{}, {x, zero});
  EXPECT_FALSE(program_.at(sum).buffer);
  EXPECT_NO_THROW(verify(program_));
}

TEST_F(BuilderTest, NamesAnActivationAsOutput) {
  const ValueId x = input("x", {4});
  const ValueId y = builder_.one(Reduce{}, {x});
  builder_.output("y", y);
  EXPECT_EQ(program_.at(program_.at(y).buffer).role, Role::output);
  EXPECT_EQ(program_.at(y).version, 1u);
  EXPECT_NO_THROW(verify(program_));
}

TEST_F(BuilderTest, RefusesOutputsThatAreNoActivationOrTakeAName) {
  const ValueId x = input("x", {4});
  expect_error(ErrorKind::invalid, "output 'y': is no activation",
               [&] { builder_.output("y", x); });
  const ValueId y = builder_.one(Reduce{}, {x});
  expect_error(ErrorKind::invalid, "output 'x': a buffer has this name already",
               [&] { builder_.output("x", y); });
  builder_.output("y", y);
  expect_error(ErrorKind::invalid, "output 'z': is no activation",
               [&] { builder_.output("z", y); });
}

TEST_F(BuilderTest, ReadsOperandsInTheShapeOfTheirView) {
  const ValueId x = input("x", {2, 6});
  EXPECT_EQ(operand_type(program_, {.value = x}), TensorType(Kind::f32, {2, 6}));
  EXPECT_EQ(operand_type(program_, {.value = x, .shape = Shape{3, 4}}),
            TensorType(Kind::f32, {3, 4}));
}

}  // namespace
}  // namespace parhelion::ir
