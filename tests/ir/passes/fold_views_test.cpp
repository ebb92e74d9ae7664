#include "ir/passes/fold_views.h"

#include "ir/builder.h"
#include "ir/print.h"
#include "ir/verify.h"

#include <gtest/gtest.h>

namespace parhelion::ir {
namespace {

TEST(FoldViews, LetsReadersReadTheSourceInTheLastShape) {
  Program program;
  program.name = "views";
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {Symbol::tokens, 8}));
  const ValueId y = builder.one(Reshape{{Symbol::tokens, 2, 4}}, {x});
  const ValueId z = builder.one(Reshape{{Symbol::tokens, 4, 2}}, {y});
  builder.one(Cast{Kind::bf16}, {y});
  builder.one(Reduce{ReduceFunction::sum, 2}, {z});
  fold_views(program);
  verify(program);
  EXPECT_EQ(print(program), R"(program views
buffer x: f32[tokens, 8] | input, microbatch
1. %2: bf16[tokens, 2, 4] = cast(to=bf16) %1 x as [tokens, 2, 4] | forward, layer 0
2. %3: f32[tokens, 4] = reduce(function=sum, axis=2) %1 x as [tokens, 4, 2] | forward, layer 0
)");
}

TEST(FoldViews, KeepsAReshapeThatIsAnOutput) {
  Program program;
  Builder builder(program);
  const ValueId x = builder.input("x", TensorType(Kind::f32, {8}));
  builder.output("y", builder.one(Reshape{{2, 4}}, {x}));
  const Program before = program;
  fold_views(program);
  EXPECT_EQ(program, before);
}

}  // namespace
}  // namespace parhelion::ir
