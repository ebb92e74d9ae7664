#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/op_checks.h"
#include "ir/print.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

#include <sstream>

namespace parhelion::ir {
namespace {

/// An op whose operands are given as `p <type>`, a parameter; `a <type>`, an activation that
/// depends on a parameter; or `i <type>`, an input.
struct GradientCase {
  Op op;
  std::vector<std::string> inputs;
};

ValueId gradient_operand(Builder& builder, const std::string& text, std::size_t index) {
  const TensorType type = type_from_text(std::string_view(text).substr(2));
  const std::string name = text.substr(0, 1) + std::to_string(index + 1);
  if (text.front() == 'p') return builder.parameter(name, type);
  const ValueId input = builder.input(name, type);
  if (text.front() == 'i') return input;
  const ValueId weight =
      builder.parameter("w" + name, TensorType(type.kind(), {type.shape.back()}));
  return builder.one(RmsNorm{}, {input, weight});
}

/// The op in a program that sums its first output to a loss.
Program gradient_program(const GradientCase& each) {
  Program program;
  Builder builder(program);
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < each.inputs.size(); ++i)
    operands.push_back(gradient_operand(builder, each.inputs[i], i));
  builder.set_label("rule");
  ValueId y = builder.add(each.op, operands).front();
  builder.set_label("loss");
  if (builder.type(y).kind() != Kind::f32) y = builder.one(Cast{}, {y});
  if (builder.type(y).rank() != 0) y = builder.one(Reduce{}, {y});
  builder.output("loss", y);
  differentiate(program, y);
  return program;
}

/// The lines of the program that the op's gradient rule added.
std::string gradient_text(const GradientCase& each) {
  const Program program = gradient_program(each);
  verify(program);
  std::istringstream lines(print(program));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("_grad, layer 0, rule") != std::string::npos) text += line + "\n";
  }
  return text;
}

void expect_gradient(const GradientCase& each, const std::string& golden) {
  EXPECT_EQ(gradient_text(each), golden);
}

TEST(Gradient, OfMatMul) {
  expect_gradient(
      {MatMul{}, {"a f32[5, 3]", "p f32[3, 4]"}},
      R"(6. %9: f32[5, 3] = matmul(transpose_a=false, transpose_b=true, bias=false, accumulate=false, out=f32) %8, %4 p2 | input_grad, layer 0, rule
7. %11 p2.gradient@1: f32[3, 4] = matmul(transpose_a=true, transpose_b=false, bias=false, accumulate=true, out=f32) %3, %8, %10 p2.gradient | weight_grad, layer 0, rule
)");
}

TEST(Gradient, OfMatMulWithATransposedWeight) {
  expect_gradient(
      {MatMul{.transpose_b = true, .out = Kind::bf16}, {"a bf16[5, 3]", "p bf16[4, 3]"}},
      R"(8. %11: bf16[5, 3] = matmul(transpose_a=false, transpose_b=false, bias=false, accumulate=false, out=bf16) %10, %4 p2 | input_grad, layer 0, rule
9. %13 p2.gradient@1: f32[4, 3] = matmul(transpose_a=true, transpose_b=false, bias=false, accumulate=true, out=f32) %10, %3, %12 p2.gradient | weight_grad, layer 0, rule
)");
}

TEST(Gradient, OfMatMulOfTransposedActivations) {
  expect_gradient(
      {MatMul{.transpose_a = true}, {"a f32[3, 5]", "a f32[3, 4]"}},
      R"(7. %11: f32[3, 5] = matmul(transpose_a=false, transpose_b=true, bias=false, accumulate=false, out=f32) %6, %10 | input_grad, layer 0, rule
8. %12: f32[3, 4] = fill(value=0, kind=f32, shape=[3, 4]) | input_grad, layer 0, rule
9. %13: f32[3, 4] = matmul(transpose_a=false, transpose_b=false, bias=false, accumulate=true, out=f32) %3, %10, %12 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfMatMulWithBothTransposes) {
  expect_gradient(
      {MatMul{.transpose_a = true, .transpose_b = true}, {"a f32[3, 5]", "a f32[4, 3]"}},
      R"(7. %11: f32[3, 5] = matmul(transpose_a=true, transpose_b=true, bias=false, accumulate=false, out=f32) %6, %10 | input_grad, layer 0, rule
8. %12: f32[4, 3] = fill(value=0, kind=f32, shape=[4, 3]) | input_grad, layer 0, rule
9. %13: f32[4, 3] = matmul(transpose_a=true, transpose_b=true, bias=false, accumulate=true, out=f32) %10, %3, %12 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfMatMulWithABias) {
  expect_gradient(
      {MatMul{.transpose_b = true, .bias = true}, {"i f32[5, 3]", "p f32[4, 3]", "p f32[4]"}},
      R"(5. %9 p2.gradient@1: f32[4, 3] = matmul(transpose_a=true, transpose_b=false, bias=false, accumulate=true, out=f32) %7, %1 i1, %8 p2.gradient | weight_grad, layer 0, rule
6. %11 p3.gradient@1: f32[4] = accumulate_rows() %7, %10 p3.gradient | weight_grad, layer 0, rule
)");
}

TEST(Gradient, OfEmbeddingOfAParameter) {
  expect_gradient(
      {Embedding{}, {"i i32[tokens]", "p bf16[8, 4]"}},
      R"(7. %10 p2.gradient@1: f32[8, 4] = embedding_grad() %1 i1, %8, %9 p2.gradient | weight_grad, layer 0, rule
)");
}

TEST(Gradient, OfEmbeddingOfAnActivation) {
  expect_gradient(
      {Embedding{}, {"i i32[rows]", "a bf16[tokens, 4]"}},
      R"(8. %11: f32[tokens, 4] = fill(value=0, kind=f32, shape=[tokens, 4]) | input_grad, layer 0, rule
9. %12: f32[tokens, 4] = embedding_grad() %1 i1, %10, %11 | input_grad, layer 0, rule
10. %13: bf16[tokens, 4] = cast(to=bf16) %12 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfRmsNorm) {
  expect_gradient(
      {RmsNorm{.eps = 0.5}, {"a bf16[tokens, 4]", "p bf16[4]"}},
      R"(8. %11: bf16[tokens, 4] = rms_norm_grad_input(eps=0.5) %3, %4 p2, %10 | input_grad, layer 0, rule
9. %13 p2.gradient@1: f32[4] = rms_norm_grad_weight(eps=0.5) %3, %10, %12 p2.gradient | weight_grad, layer 0, rule
)");
}

TEST(Gradient, OfRope) {
  expect_gradient(
      {Rope{}, {"a f32[tokens, 2, 4]", "i i32[tokens]", "i f32[16, 4]"}},
      R"(6. %10: f32[tokens, 2, 4] = rope(inverse=true) %9, %4 i2, %5 i3 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfAttention) {
  expect_gradient(
      {Attention{.scale = 0.5, .window = 8, .longest = 6},
       {"a bf16[tokens, 4, 8]", "a bf16[tokens, 2, 8]", "a bf16[tokens, 2, 8]",
        "i i32[documents+1]"}},
      R"(10. %18: bf16[tokens, 4, 8], %19: bf16[tokens, 2, 8], %20: bf16[tokens, 2, 8] = attention_grad(scale=0.5, window=8, longest=6) %3, %6, %9, %11, %12, %17, %10 i4 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfAttentionOfKeysAlone) {
  expect_gradient(
      {Attention{},
       {"i f32[tokens, 4, 8]", "a f32[tokens, 2, 8]", "i f32[tokens, 2, 8]", "i i32[documents+1]"}},
      R"(6. %12: f32[tokens, 4, 8], %13: f32[tokens, 2, 8], %14: f32[tokens, 2, 8] = attention_grad(scale=1, window=0, longest=0) %1 i1, %4, %5 i3, %7, %8, %11, %6 i4 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfSwiglu) {
  expect_gradient(
      {Swiglu{}, {"a f32[tokens, 4]", "a f32[tokens, 4]"}},
      R"(7. %11: f32[tokens, 4], %12: f32[tokens, 4] = swiglu_grad() %3, %6, %10 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfSum) { expect_gradient({Binary{}, {"a f32[tokens, 4]", "a f32[tokens, 4]"}}, ""); }

TEST(Gradient, OfProduct) {
  expect_gradient(
      {Binary{BinaryFunction::multiply}, {"a f32[tokens, 4]", "a f32[tokens, 4]"}},
      R"(7. %11: f32[tokens, 4] = binary(function=multiply) %10, %6 | input_grad, layer 0, rule
8. %12: f32[tokens, 4] = binary(function=multiply) %10, %3 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfCast) {
  expect_gradient({Cast{Kind::f32}, {"a bf16[tokens, 4]"}},
                  R"(6. %8: bf16[tokens, 4] = cast(to=bf16) %7 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfScale) {
  expect_gradient({Scale{2.5}, {"a f32[tokens, 4]"}},
                  R"(6. %8: f32[tokens, 4] = scale(factor=2.5) %7 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfDropoutDropsTheSameElements) {
  expect_gradient(
      {Dropout{.probability = 0.5, .tag = 3}, {"a f32[tokens, 4]", "i u64[]"}},
      R"(6. %9: f32[tokens, 4] = dropout(probability=0.5, tag=3) %8, %4 i2 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfMean) {
  expect_gradient(
      {Reduce{ReduceFunction::mean, 1}, {"a f32[tokens, 4]"}},
      R"(6. %8: f32[tokens, 4] = broadcast(shape=[4], mean=true) %7 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfSumToAScalar) {
  expect_gradient({Reduce{ReduceFunction::sum, 0}, {"a f32[tokens, 4]"}},
                  R"(3. %5: f32[] = fill(value=1, kind=f32, shape=[]) | input_grad, layer 0, rule
4. %6: f32[tokens, 4] = broadcast(shape=[tokens, 4], mean=false) %5 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfBroadcast) {
  expect_gradient(
      {Broadcast{.shape = {3}}, {"a f32[tokens, 4]"}},
      R"(6. %8: f32[tokens, 4] = reduce(function=sum, axis=2) %7 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfBroadcastMean) {
  expect_gradient(
      {Broadcast{.shape = {3}, .mean = true}, {"a f32[tokens, 4]"}},
      R"(6. %8: f32[tokens, 4] = reduce(function=mean, axis=2) %7 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfReshape) {
  expect_gradient(
      {Reshape{{Symbol::tokens, 2, 4}}, {"a f32[tokens, 8]"}},
      R"(6. %8: f32[tokens, 8] = reshape(shape=[tokens, 8]) %7 | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfLinearCrossEntropy) {
  expect_gradient(
      {LinearCrossEntropy{}, {"a bf16[tokens, 4]", "p bf16[9, 4]", "i i32[tokens]"}},
      R"(6. %12: bf16[tokens, 4], %13 p2.gradient@1: f32[9, 4] = linear_cross_entropy_grad(accumulate=true) %3, %4 p2, %5 i3, %7, %10, %11 p2.gradient | input_grad, layer 0, rule
)");
}

TEST(Gradient, OfLinearCrossEntropyOfAFixedHead) {
  expect_gradient(
      {LinearCrossEntropy{}, {"a f32[tokens, 4]", "i f32[9, 4]", "i i32[tokens]"}},
      R"(6. %11: f32[tokens, 4] = linear_cross_entropy_grad(accumulate=false) %3, %4 i2, %5 i3, %7, %10 | input_grad, layer 0, rule
)");
}

void expect_no_gradient(ErrorKind kind, const std::string& message, const GradientCase& each) {
  expect_error(kind, message, [&] { gradient_program(each); });
}

TEST(Gradient, IsRefusedWhereAFamilyHasNone) {
  expect_no_gradient(ErrorKind::invalid, "reduce: max has no gradient",
                     {Reduce{ReduceFunction::max, 0}, {"a f32[4]"}});
  expect_no_gradient(ErrorKind::invalid,
                     "log_probability: has no gradient, train through linear_cross_entropy",
                     {LogProbability{}, {"a f32[rows, 9]", "i i32[rows]"}});
  expect_no_gradient(ErrorKind::invalid,
                     "paged_attention: has no gradient, train through attention",
                     {PagedAttention{},
                      {"a f32[tokens, 4, 8]", "i f32[pages, 16, 2, 8]", "i f32[pages, 16, 2, 8]",
                       "i i32[rows, pages_per_row]", "i i32[rows+1]", "i i32[rows]"}});
}

TEST(Gradient, OfGradientsAndFusedOpsIsABug) {
  expect_no_gradient(ErrorKind::bug, "swiglu_grad: has no gradient",
                     {SwigluGrad{}, {"a f32[4]", "i f32[4]", "i f32[4]"}});
  expect_no_gradient(ErrorKind::bug,
                     "gate_up: is made by fusion after differentiation and has no gradient",
                     {GateUp{}, {"a f32[2, 3]", "i f32[5, 3]", "i f32[5, 3]"}});
  expect_no_gradient(ErrorKind::bug,
                     "add_rms_norm: is made by fusion after differentiation and has no gradient",
                     {AddRmsNorm{}, {"a f32[2, 4]", "i f32[2, 4]", "i f32[4]"}});
}

TEST(Differentiate, AddsEachUseOfAParameterToOneChain) {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {5, 3}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {3, 3}));
  const ValueId y = builder.one(MatMul{}, {builder.one(MatMul{}, {x, w}), w});
  const ValueId loss = builder.one(Reduce{}, {y});
  differentiate(program, loss);
  verify(program);
  const ValueId sum =
      Builder(program).state(gradient_name("w"), TensorType(Kind::f32, {3, 3}), Lifetime::step);
  EXPECT_EQ(program.at(sum).version, 2u);
}

TEST(Differentiate, RefusesALossThatIsNone) {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {5}));
  const ValueId y = builder.one(Reduce{}, {x});
  expect_error(ErrorKind::invalid, "differentiate: loss is f32[5], expected f32[]",
               [&] { differentiate(program, x); });
  expect_error(ErrorKind::invalid, "differentiate: loss depends on no parameter",
               [&] { differentiate(program, y); });
}

TEST(Differentiate, RefusesAParameterWhereARuleKeepsNoSum) {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {5}));
  const ValueId scale = builder.parameter("scale", TensorType(Kind::f32, {5}));
  const ValueId loss =
      builder.one(Reduce{}, {builder.one(Binary{BinaryFunction::multiply}, {x, scale})});
  expect_error(ErrorKind::invalid,
               "binary: input 2 is the parameter 'scale', expected an activation, since its "
               "gradient has no f32 sum",
               [&] { differentiate(program, loss); });
}

}  // namespace
}  // namespace parhelion::ir
