#include "ir/passes/fuse.h"

#include "ir/builder.h"
#include "ir/print.h"
#include "ir/transformer_program.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

/// A residual sum, its norm and a gated projection of it.
class FuseTest : public testing::Test {
 protected:
  FuseTest() {
    program_.name = "fuse";
    const TensorType type(Kind::f32, {Symbol::tokens, 4});
    x_ = builder_.input("x", type);
    sum_ = builder_.one(Binary{}, {x_, builder_.input("r", type)});
    norm_weight_ = builder_.parameter("norm", TensorType(Kind::f32, {4}));
  }

  ValueId project(std::string_view weight) {
    return builder_.one(MatMul{.transpose_b = true},
                        {norm_, builder_.parameter(weight, TensorType(Kind::f32, {6, 4}))});
  }

  std::string fused() {
    fuse(program_);
    verify(program_);
    return print(program_);
  }

  bool contains(const char* text) { return fused().find(text) != std::string::npos; }

  Program program_;
  Builder builder_{program_};
  ValueId x_, sum_, norm_weight_, norm_;
};

TEST_F(FuseTest, JoinsSumAndNormAndGateAndUp) {
  norm_ = builder_.one(RmsNorm{}, {sum_, norm_weight_});
  const ValueId h = builder_.one(Swiglu{}, {project("gate"), project("up")});
  builder_.one(Cast{Kind::bf16}, {h});
  builder_.one(Cast{Kind::bf16}, {sum_});
  EXPECT_EQ(fused(), R"(program fuse
buffer x: f32[tokens, 4] | input, microbatch
buffer r: f32[tokens, 4] | input, microbatch
buffer norm: f32[4] | parameter, process
buffer gate: f32[6, 4] | parameter, process
buffer up: f32[6, 4] | parameter, process
1. %3: f32[tokens, 4], %5: f32[tokens, 4] = add_rms_norm(eps=1e-06) %1 x, %2 r, %4 norm | forward, layer 0
2. %8: f32[tokens, 6] = gate_up() %5, %6 gate, %7 up | forward, layer 0
3. %9: bf16[tokens, 6] = cast(to=bf16) %8 | forward, layer 0
4. %10: bf16[tokens, 4] = cast(to=bf16) %3 | forward, layer 0
)");
}

TEST_F(FuseTest, LeavesOpsOfTwoPhasesApart) {
  builder_.set_phase(Phase::input_grad);
  norm_ = builder_.one(RmsNorm{}, {sum_, norm_weight_});
  const ValueId gate = project("gate");
  const ValueId up = project("up");
  builder_.set_phase(Phase::weight_grad);
  builder_.one(Swiglu{}, {gate, up});
  const Program before = program_;
  fused();
  EXPECT_EQ(program_, before);
}

TEST_F(FuseTest, LeavesProjectionsThatOthersRead) {
  norm_ = builder_.one(RmsNorm{}, {x_, norm_weight_});
  const ValueId gate = project("gate");
  builder_.one(Swiglu{}, {gate, project("up")});
  builder_.one(Cast{Kind::bf16}, {gate});
  EXPECT_FALSE(contains("gate_up"));
}

TEST_F(FuseTest, LeavesProjectionsOfTwoSources) {
  norm_ = builder_.one(RmsNorm{}, {sum_, norm_weight_});
  const ValueId gate = project("gate");
  norm_ = x_;
  builder_.one(Swiglu{}, {gate, project("up")});
  EXPECT_FALSE(contains("gate_up"));
}

TEST_F(FuseTest, JoinsASumWithOneOfItsNorms) {
  builder_.one(RmsNorm{}, {sum_, norm_weight_});
  builder_.one(RmsNorm{}, {sum_, norm_weight_});
  const std::string text = fused();
  EXPECT_NE(text.find("add_rms_norm"), std::string::npos);
  EXPECT_NE(text.find(" rms_norm"), std::string::npos);
}

TEST(Fuse, FindsBothFusionsInEachLayer) {
  Program program;
  TransformerProgram(program, {.layers = 3}).add_train();
  const std::size_t before = program.ops.size();
  fuse(program);
  verify(program);
  // Each layer loses two matmuls and the norm behind each of its sums.
  EXPECT_EQ(program.ops.size(), before - 3 * 2 - 3 * 2);
}

}  // namespace
}  // namespace parhelion::ir
