#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/memory_plan.h"
#include "ir/passes/instantiate.h"
#include "ir/print.h"
#include "ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace parhelion::ir {
namespace {

/// The program of docs/ir.md.
Program docs_program() {
  Program program;
  program.name = "tiny";
  Builder builder(program);
  const ValueId ids = builder.input("ids", TensorType(Kind::i32, {Symbol::tokens}));
  const ValueId labels = builder.input("labels", TensorType(Kind::i32, {Symbol::tokens}));
  const ValueId table = builder.parameter("table", TensorType(Kind::bf16, {32, 8}));
  builder.set_label("embed");
  const ValueId x = builder.one(Embedding{}, {ids, table});
  builder.set_label("norm");
  builder.set_layer(1);
  const ValueId weight = builder.parameter("norm.weight", TensorType(Kind::bf16, {8}));
  const ValueId y = builder.one(RmsNorm{}, {x, weight});
  builder.set_label("head");
  builder.set_layer(2);
  const ValueId losses = builder.add(LinearCrossEntropy{}, {y, table, labels}).front();
  const ValueId loss = builder.one(Reduce{ReduceFunction::mean}, {losses});
  builder.output("loss", loss);
  differentiate(program, loss);
  return program;
}

std::string docs_text() {
  std::ifstream file(PARHELION_TEST_DATA "/../../docs/ir.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(DocsExample, PrintsAsTheDocsSay) {
  const Program program = docs_program();
  EXPECT_NO_THROW(verify(program));
  EXPECT_THAT(docs_text(), testing::HasSubstr("```\n" + print(program) + "```\n"));
}

TEST(DocsExample, IsPlannedAsTheDocsSay) {
  Capacities capacities;
  capacities[Symbol::tokens] = 16;
  const Program instance = instantiate(docs_program(), capacities);
  const std::string plan = print(plan_memory(instance), instance);
  EXPECT_THAT(docs_text(), testing::HasSubstr("```\n" + plan + "```\n"));
}

}  // namespace
}  // namespace parhelion::ir
