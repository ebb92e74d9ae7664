#include "ir/verify.h"

#include "ir/builder.h"
#include "ir/expect_error.h"
#include "ir/print.h"

#include <gtest/gtest.h>

#include <functional>

namespace parhelion::ir {
namespace {

/// Buffers: 1 ids, 2 table, 3 half, 4 sum, 5 loss. Values: 1 ids, 2 table, 3 half, 4 sum,
/// 5 x = embedding, 6 y = x * half, 7 f32 y, 8 loss, 9 sum@1. Ops: 1 embedding, 2 binary, 3 cast,
/// 4 reduce, 5 accumulate_rows.
Program valid_program() {
  Program program;
  program.name = "valid";
  Builder builder(program);
  const ValueId ids = builder.input("ids", TensorType(Kind::i32, {Symbol::tokens}));
  const ValueId table = builder.parameter("table", TensorType(Kind::bf16, {8, 4}));
  const ValueId half = builder.constant(
      "half", Fill{.value = 0.5, .kind = Kind::bf16, .shape = {Symbol::tokens, 4}});
  const ValueId sum = builder.state("sum", TensorType(Kind::f32, {4}), Lifetime::step);
  builder.set_label("embed");
  const ValueId x = builder.one(Embedding{}, {ids, table});
  const ValueId y = builder.one(Binary{BinaryFunction::multiply}, {x, half});
  const ValueId wide = builder.one(Cast{Kind::f32}, {y});
  builder.output("loss", builder.one(Reduce{ReduceFunction::mean, 0}, {wide}));
  builder.set_phase(Phase::weight_grad);
  builder.one(AccumulateRows{}, {x, sum});
  return program;
}

/// Breaks the valid program and expects the message.
void expect_refusal(const std::string& message, const std::function<void(Program&)>& change) {
  Program program = valid_program();
  change(program);
  expect_error(ErrorKind::invalid, "verify " + message, [&] { verify(program); });
}

/// Appends `op` to the program as op 6.
void append(Program& program, Phase phase, Op op, const std::vector<ValueId>& inputs) {
  Builder builder(program);
  builder.set_phase(phase);
  builder.add(std::move(op), inputs);
}

TEST(Verify, AcceptsAWellFormedProgram) { EXPECT_NO_THROW(verify(valid_program())); }

TEST(Verify, AcceptsAnEmptyProgram) { EXPECT_NO_THROW(verify(Program{})); }

TEST(Verify, P1RefusesIdsThatNameNothing) {
  expect_refusal("P1: op 1 embedding (embed): value 99 does not exist, there are 9",
                 [](Program& p) { p.ops[0].inputs[1].value = {99}; });
  expect_refusal("P1: op 2 binary (embed): value 0 does not exist, there are 9",
                 [](Program& p) { p.ops[1].outputs[0] = {}; });
  expect_refusal("P1: op 1 embedding: label 2 does not exist, there are 2",
                 [](Program& p) { p.ops[0].label = 2; });
  expect_refusal("P1: value 5: producer 6 does not exist, there are 5 ops",
                 [](Program& p) { p.values[4].producer = {6}; });
  expect_refusal("P1: value 5: buffer 6 does not exist, there are 5",
                 [](Program& p) { p.values[4].buffer = {6}; });
}

TEST(Verify, P2RefusesBuffersWithoutANameOfTheirOwn) {
  expect_refusal("P2: buffer 'ids': the name is taken, expected a unique one",
                 [](Program& p) { p.buffers[1].name = "ids"; });
  expect_refusal("P2: buffer '': the name is empty, expected a unique one",
                 [](Program& p) { p.buffers[1].name = ""; });
}

TEST(Verify, P2RefusesInitsThatDoNotMakeTheBuffer) {
  expect_refusal("P2: buffer 'half': is a constant without init",
                 [](Program& p) { p.buffers[2].init.reset(); });
  expect_refusal("P2: buffer 'half': init gives f32[], expected bf16[tokens, 4]",
                 [](Program& p) { p.buffers[2].init = Fill{.value = 0.5}; });
  expect_refusal("P2: buffer 'half': cast C0: has 0 inputs, expected 1",
                 [](Program& p) { p.buffers[2].init = Cast{}; });
}

TEST(Verify, P3RefusesValuesThatAreNotGivenExactlyOnce) {
  expect_refusal("P3: op 3 cast (embed): gives value 6, which op 2 gave", [](Program& p) {
    p.ops[2].outputs[0] = {6};
    p.values[5].type = p.values[6].type;
    p.ops[1].inputs = p.ops[2].inputs = {{.value = {5}}};
    p.ops[1].op = Cast{Kind::f32};
  });
  expect_refusal("P3: op 3 cast (embed): gives value 7, whose producer is 4",
                 [](Program& p) { p.values[6].producer = {4}; });
  expect_refusal("P3: value 10: its producer, op 3 cast (embed), does not give it", [](Program& p) {
    p.values.push_back({.type = p.values[6].type, .producer = {3}});
  });
}

TEST(Verify, P3RefusesValuesFromNowhere) {
  expect_refusal("P3: value 5: has no producer, expected version 0 of a buffer",
                 [](Program& p) { p.values[4].producer = {}; });
  expect_refusal("P3: value 1: has no producer, expected version 0 of a buffer",
                 [](Program& p) { p.values[0].version = 1; });
  expect_refusal("P3: values 1 and 10: both are version 0 of buffer 'ids'",
                 [](Program& p) { p.values.push_back(p.values[0]); });
}

TEST(Verify, P4RefusesReadingAheadOfTheProducer) {
  expect_refusal("P4: op 2 binary (embed): reads value 7 before op 3 gives it",
                 [](Program& p) { p.ops[1].inputs[0].value = {7}; });
  expect_refusal("P4: op 3 cast (embed): reads value 7 before op 3 gives it",
                 [](Program& p) { p.ops[2].inputs[0].value = {7}; });
}

TEST(Verify, P5RefusesTypesThatTheOpDoesNotInfer) {
  expect_refusal("P5: op 2 binary (embed): value 6 is f32[tokens, 4], expected bf16[tokens, 4]",
                 [](Program& p) {
                   p.values[5].type = TensorType(Kind::f32, {Symbol::tokens, 4});
                 });
  expect_refusal("P5: op 3 cast (embed): has 2 outputs, expected 1",
                 [](Program& p) { p.ops[2].outputs.push_back({8}); });
  expect_refusal("P5: op 4 reduce (embed): reduce C2: axis is 2, expected 0 to rank(x) - 1 = 1",
                 [](Program& p) {
                   p.ops[3].op = Reduce{ReduceFunction::mean, 2};
                 });
}

TEST(Verify, P5RefusesValuesUnlikeTheirBuffer) {
  expect_refusal("P5: value 2: is bf16[8, 4], expected bf16[9, 4] as buffer 'table'",
                 [](Program& p) { p.buffers[1].type.shape[0] = 9; });
}

TEST(Verify, P5RefusesAnotherNumberOfElementsInAnOperandsShape) {
  expect_refusal(
      "P5: op 2 binary (embed): reads value 5 as [tokens, 5] with 5*tokens elements, expected "
      "4*tokens",
      [](Program& p) {
        p.ops[1].inputs[0].shape = Shape{Symbol::tokens, 5};
      });
}

TEST(Verify, P6RefusesTiesThatAreNotTheNextVersion) {
  const std::string message =
      "P6: op 5 accumulate_rows (embed): value 9 is not the next version of value 4";
  expect_refusal(message, [](Program& p) { p.values[8].version = 2; });
  expect_refusal(message, [](Program& p) { p.values[8].buffer = {}; });
}

TEST(Verify, P6RefusesVersionsWithoutATie) {
  expect_refusal("P6: op 4 reduce (embed): value 8 is version 2 of buffer 'loss', but no tie",
                 [](Program& p) { p.values[7].version = 2; });
  expect_refusal("P6: op 4 reduce (embed): value 8 is version 1 of buffer 'loss', but no tie",
                 [](Program& p) { p.buffers[4].role = Role::state; });
}

TEST(Verify, P6AcceptsATiedActivation) {
  Program program = valid_program();
  Builder builder(program);
  const ValueId zero = builder.one(Fill{.value = 0, .shape = {4}}, {});
  builder.one(AccumulateRows{}, {ValueId{5}, zero});
  EXPECT_NO_THROW(verify(program));
}

TEST(Verify, P7RefusesNamingAnUpdatedValue) {
  expect_refusal("P7: op 6 accumulate_rows: names value 4, which op 5 updated", [](Program& p) {
    append(p, Phase::weight_grad, AccumulateRows{}, {ValueId{5}, ValueId{4}});
  });
  expect_refusal("P7: op 8 reduce: names value 10, which op 7 updated", [](Program& p) {
    append(p, Phase::weight_grad, Fill{.value = 0, .shape = {4}}, {});
    append(p, Phase::weight_grad, AccumulateRows{}, {ValueId{5}, ValueId{10}});
    append(p, Phase::weight_grad, Reduce{}, {ValueId{10}});
  });
}

TEST(Verify, P7RefusesAnOpThatReadsWhatItUpdates) {
  expect_refusal("P7: op 7 matmul: reads value 10 twice and updates it", [](Program& p) {
    append(p, Phase::forward, Fill{.value = 1, .shape = {2, 2}}, {});
    append(p, Phase::forward, MatMul{.accumulate = true}, {ValueId{10}, ValueId{10}, ValueId{10}});
  });
}

TEST(Verify, P8RefusesWritingWhatIsFixed) {
  expect_refusal(
      "P8: op 5 accumulate_rows (embed): writes buffer 'sum', which is input in phase weight_grad",
      [](Program& p) { p.buffers[3].role = Role::input; });
  expect_refusal(
      "P8: op 5 accumulate_rows (embed): writes buffer 'sum', which is constant in phase "
      "weight_grad",
      [](Program& p) {
        p.buffers[3].role = Role::constant;
        p.buffers[3].init = Fill{.shape = {4}};
      });
  expect_refusal(
      "P8: op 5 accumulate_rows (embed): writes buffer 'sum', which is parameter in phase "
      "weight_grad",
      [](Program& p) { p.buffers[3].role = Role::parameter; });
}

TEST(Verify, P8AcceptsParametersThatAnUpdateWrites) {
  Program program = valid_program();
  program.buffers[3].role = Role::parameter;
  program.ops[4].phase = Phase::update;
  EXPECT_NO_THROW(verify(program));
}

TEST(Verify, P9RefusesOutputsThatAreNotWrittenOnce) {
  expect_refusal("P9: output 'extra': is never written",
                 [](Program& p) { p.buffers.push_back({.name = "extra", .role = Role::output}); });
  expect_refusal("P9: op 6 fill: writes output 'loss' again", [](Program& p) {
    append(p, Phase::forward, Fill{}, {});
    p.values[9].buffer = {5};
    p.values[9].version = 1;
  });
}

TEST(Verify, P10RefusesReadingALaterPhase) {
  expect_refusal("P10: op 2 binary (embed): is of phase forward and reads value 5 of phase update",
                 [](Program& p) { p.ops[0].phase = Phase::update; });
}

TEST(Verify, P11RefusesUpdatingWhatALaterPhaseReads) {
  expect_refusal(
      "P11: op 8 accumulate_rows: is of phase forward and updates value 10, which op 7 of phase "
      "input_grad reads",
      [](Program& p) {
        append(p, Phase::forward, Fill{.value = 0, .shape = {4}}, {});
        append(p, Phase::input_grad, Reduce{}, {ValueId{10}});
        append(p, Phase::forward, AccumulateRows{}, {ValueId{5}, ValueId{10}});
      });
}

TEST(Verify, P12RefusesGradientsThatReadForwardState) {
  expect_refusal("P12: op 6 reduce: names state 'sum', which forward updates", [](Program& p) {
    p.ops[4].phase = Phase::forward;
    append(p, Phase::input_grad, Reduce{}, {ValueId{9}});
  });
}

TEST(Verify, P13RefusesGatesThatCannotDecide) {
  expect_refusal(
      "P13: op 5 accumulate_rows (embed): its gate, value 7, is f32[tokens, 4], expected bool8[]",
      [](Program& p) { p.ops[4].gate = {7}; });
  const auto add_gate = [](Program& p) {
    Builder builder(p);
    const ValueId gate = builder.input("gate", TensorType(Kind::bool8, {}));
    p.ops[4].gate = gate;
    return gate;
  };
  Program gated = valid_program();
  add_gate(gated);
  EXPECT_NO_THROW(verify(gated));
  expect_refusal("P13: op 4 reduce (embed): has a gate and an output that is not tied",
                 [&](Program& p) { p.ops[3].gate = add_gate(p); });
  expect_refusal("P1: op 5 accumulate_rows (embed): value 99 does not exist, there are 9",
                 [](Program& p) { p.ops[4].gate = {99}; });
}

}  // namespace
}  // namespace parhelion::ir
