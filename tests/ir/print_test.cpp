#include "ir/print.h"

#include "ir/builder.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

Program small_program() {
  Program program;
  program.name = "small";
  Builder builder(program);
  const ValueId ids = builder.input("ids", TensorType(Kind::i32, {Symbol::tokens}));
  const ValueId positions = builder.input("positions", TensorType(Kind::i32, {Symbol::tokens}));
  const ValueId table = builder.parameter("table", TensorType(Kind::bf16, {8, 4}));
  const ValueId rope = builder.constant("rope", RopeTable{.positions = 16, .dim = 2});
  const ValueId sum = builder.state("sum", TensorType(Kind::f32, {4}), Lifetime::step);
  builder.set_label("embed");
  const ValueId x = builder.one(Embedding{}, {ids, table});
  builder.set_layer(1);
  builder.set_label("");
  const ValueId heads = builder.one(Reshape{{Symbol::tokens, 2, 2}}, {x});
  const ValueId turned = builder.one(Rope{}, {heads, positions, rope});
  builder.one(Reshape{{Symbol::tokens, 4}}, {turned});
  builder.set_phase(Phase::weight_grad);
  builder.one(AccumulateRows{}, {x, sum});
  return program;
}

constexpr const char* kSmallText =
    R"(program small
buffer ids: i32[tokens] | input, microbatch
buffer positions: i32[tokens] | input, microbatch
buffer table: bf16[8, 4] | parameter, process
buffer rope: f32[16, 2] | constant, process = rope_table(positions=16, dim=2, theta=10000, scaling=none, factor=1, low_frequency=1, high_frequency=4, original_positions=0)
buffer sum: f32[4] | state, step
1. %6: bf16[tokens, 4] = embedding() %1 ids, %3 table | forward, layer 0, embed
2. %7: bf16[tokens, 2, 2] = reshape(shape=[tokens, 2, 2]) %6 | forward, layer 1
3. %8: bf16[tokens, 2, 2] = rope(inverse=false) %7, %2 positions, %4 rope | forward, layer 1
4. %9: bf16[tokens, 4] = reshape(shape=[tokens, 4]) %8 | forward, layer 1
5. %10 sum@1: f32[4] = accumulate_rows() %6, %5 sum | weight_grad, layer 1
)";

TEST(Print, ShowsBuffersThenOpsInOrder) { EXPECT_EQ(print(small_program()), kSmallText); }

TEST(Print, ShowsTheShapeThatAnOperandIsReadAs) {
  Program program = small_program();
  program.ops[2].inputs[0] = {.value = {6}, .shape = Shape{Symbol::tokens, 2, 2}};
  EXPECT_NE(print(program).find("3. %8: bf16[tokens, 2, 2] = rope(inverse=false) "
                                "%6 as [tokens, 2, 2], %2 positions, %4 rope"),
            std::string::npos);
}

TEST(Print, ShowsIdsThatNameNothing) {
  Program program = small_program();
  program.ops[0].inputs[0].value = {99};
  program.ops[0].label = 7;
  program.values[5].buffer = {42};
  EXPECT_NE(print(program).find("1. %6 buffer 42?: bf16[tokens, 4] = embedding() %99?, %3 table | "
                                "forward, layer 0, label 7?\n"),
            std::string::npos);
}

}  // namespace
}  // namespace parhelion::ir
