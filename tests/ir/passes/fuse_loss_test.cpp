#include "ir/passes/fuse_loss.h"

#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"
#include "ir/print.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

/// total = sum(loss(hidden w) * weight), and, behind the gradients, a sum of it over microbatches.
class FuseLossTest : public testing::Test {
 protected:
  FuseLossTest() {
    program_.name = "loss";
    const TensorType rows(Kind::f32, {Symbol::tokens});
    const ValueId x = builder_.input("x", TensorType(Kind::f32, {Symbol::tokens, 4}));
    const ValueId norm = builder_.parameter("norm", TensorType(Kind::f32, {4}));
    const ValueId hidden = builder_.one(RmsNorm{}, {x, norm});
    const ValueId w = builder_.parameter("w", TensorType(Kind::f32, {9, 4}));
    const ValueId labels = builder_.input("labels", TensorType(Kind::i32, {Symbol::tokens}));
    weight_ = builder_.input("weight", rows);
    losses_ = builder_.add(LinearCrossEntropy{}, {hidden, w, labels});
  }

  ValueId total(ValueId weight) {
    const ValueId weighted = builder_.one(Binary{BinaryFunction::multiply}, {losses_[0], weight});
    return builder_.one(Reduce{}, {weighted});
  }

  void finish(ValueId total) {
    builder_.output("loss", losses_[0]);
    differentiate(program_, total);
    Builder after(program_);
    after.one(Accumulate{}, {total, after.state("sum", TensorType(Kind::f32, {}))});
    verify(program_);
  }

  bool has(std::string_view family) const {
    return print(program_).find(std::string(family) + "(") != std::string::npos;
  }

  Program program_;
  Builder builder_{program_};
  ValueId weight_;
  std::vector<ValueId> losses_;
};

TEST_F(FuseLossTest, JoinsALossAndItsGradient) {
  finish(total(weight_));
  fuse_loss(program_);
  verify(program_);
  EXPECT_EQ(print(program_), R"(program loss
buffer x: f32[tokens, 4] | input, microbatch
buffer norm: f32[4] | parameter, process
buffer w: f32[9, 4] | parameter, process
buffer labels: i32[tokens] | input, microbatch
buffer weight: f32[tokens] | input, microbatch
buffer loss: f32[tokens] | output, microbatch
buffer w.gradient: f32[9, 4] | state, step
buffer norm.gradient: f32[4] | state, step
buffer sum: f32[] | state, process
1. %3: f32[tokens, 4] = rms_norm(eps=1e-06) %1 x, %2 norm | forward, layer 0
2. %10: f32[] = fill(value=1, kind=f32, shape=[]) | input_grad, layer 0
3. %11: f32[tokens] = broadcast(shape=[tokens], mean=false) %10 | input_grad, layer 0
4. %12: f32[tokens] = binary(function=multiply) %11, %6 weight | input_grad, layer 0
5. %7 loss@1: f32[tokens], %14: f32[tokens, 4], %15 w.gradient@1: f32[9, 4] = linear_cross_entropy_step(accumulate=true) %3, %4 w, %5 labels, %12, %13 w.gradient | input_grad, layer 0
6. %8: f32[tokens] = binary(function=multiply) %7 loss@1, %6 weight | input_grad, layer 0
7. %9: f32[] = reduce(function=sum, axis=0) %8 | input_grad, layer 0
8. %17 norm.gradient@1: f32[4] = rms_norm_grad_weight(eps=1e-06) %1 x, %14, %16 norm.gradient | weight_grad, layer 0
9. %19 sum@1: f32[] = accumulate() %9, %18 sum | input_grad, layer 0
)");
}

TEST(FuseLoss, KeepsTheOrderOfPhasesWhereOnlyTheWeightIsTrained) {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {6, 4}));
  const ValueId w = builder.parameter("w", TensorType(Kind::f32, {9, 4}));
  const ValueId labels = builder.input("labels", TensorType(Kind::i32, {6}));
  const ValueId loss = builder.add(LinearCrossEntropy{}, {x, w, labels}).front();
  differentiate(program, builder.one(Reduce{}, {loss}));
  fuse_loss(program);
  EXPECT_NO_THROW(verify(program));
  EXPECT_NE(print(program).find("linear_cross_entropy_step"), std::string::npos);
}

TEST_F(FuseLossTest, LeavesALossThatItsGradientNeeds) {
  finish(total(losses_[0]));  // d(loss^2) = 2 loss
  const Program before = program_;
  fuse_loss(program_);
  EXPECT_EQ(program_, before);
}

TEST_F(FuseLossTest, LeavesALossWhoseLogSumExpIsRead) {
  finish(total(weight_));
  Builder after(program_);
  after.output("lse", after.one(Scale{1.0}, {losses_[1]}));
  const Program before = program_;
  fuse_loss(program_);
  EXPECT_EQ(program_, before);
}

TEST_F(FuseLossTest, ComputesTheLogitsOnceUnderRecompute) {
  finish(total(weight_));
  Capacities capacities;
  capacities[Symbol::tokens] = 6;
  program_ = lower(program_, capacities, Recompute::layer);
  EXPECT_TRUE(has("linear_cross_entropy_step"));
  EXPECT_FALSE(has("linear_cross_entropy"));
}

}  // namespace
}  // namespace parhelion::ir
