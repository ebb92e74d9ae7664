#include "base/file.h"
#include "ir/autodiff/differentiate.h"
#include "ir/passes/lower.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "model/checkpoint_test_support.h"
#include "model/programs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

namespace parhelion::model {
namespace {

Model one_layer_model(std::optional<double> qk_norm_eps) {
  const Decoder config{
      .vocabulary = 160,
      .hidden = 32,
      .layers = 1,
      .attention = {.heads = 4, .kv_heads = 2, .head_dim = 16, .qk_norm_eps = qk_norm_eps},
      .mlp = {.intermediate = 72},
      .rope = {.positions = 64, .dim = 16}};
  Model model;
  model.layers = 1;
  model.build = [config](ir::Builder& builder, ir::Kind kind, Context& context) {
    return decoder(builder, kind, config, context);
  };
  return model;
}

/// Compares with tests/data/model/programs/<name>.txt. Where they differ, the actual text is left
/// in the directory for temporary files.
void expect_golden_text(const std::string& name, const ir::Program& program) {
  const std::string actual = ir::print(program);
  const std::string file = name + ".txt";
  if (actual == read_file(golden_path("programs") / file)) return;
  const std::filesystem::path left = std::filesystem::path(testing::TempDir()) / file;
  std::ofstream(left) << actual;
  ADD_FAILURE() << "program " << name << " differs from its golden text; it is now " << left;
}

TEST(ProgramText, OfTrainingALlamaStays) {
  expect_golden_text("llama_train",
                     build_train(one_layer_model(std::nullopt), ir::Kind::bf16).program);
}

TEST(ProgramText, OfExtendingAQwen3Stays) {
  expect_golden_text("qwen3_extend", build_extend(one_layer_model(1e-6), ir::Kind::bf16,
                                                  {.page_tokens = 16, .slots = 4}));
}

TEST(ProgramText, OfExtendingAQwen3WithEditsStays) {
  expect_golden_text("qwen3_extend_edited",
                     build_extend(one_layer_model(1e-6), ir::Kind::bf16,
                                  {.page_tokens = 16, .slots = 4}, Edits::on));
}

TEST(ProgramText, OfCopyingPagesStays) {
  expect_golden_text("copy_pages", build_copy_pages(one_layer_model(1e-6), ir::Kind::bf16, 16, 8));
}

class VerifiedProgram : public testing::TestWithParam<std::string_view> {
 protected:
  VerifiedProgram() {
    capacities_[ir::Symbol::tokens] = 24;
    capacities_[ir::Symbol::documents] = 3;
    capacities_[ir::Symbol::rows] = 4;
    capacities_[ir::Symbol::logit_rows] = 4;
    capacities_[ir::Symbol::pages_per_row] = 4;
    capacities_[ir::Symbol::pages] = 16;
  }

  Model model_ = open_model(golden_path(GetParam())).model;
  ir::Capacities capacities_;
};
INSTANTIATE_TEST_SUITE_P(Model, VerifiedProgram, testing::ValuesIn(kGoldenModels),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(VerifiedProgram, TrainsWithGradients) {
  for (const ir::Kind kind : {ir::Kind::f32, ir::Kind::bf16}) {
    TrainProgram train = build_train(model_, kind);
    EXPECT_NO_THROW(ir::verify(train.program));
    ir::differentiate(train.program, train.total_loss);
    EXPECT_NO_THROW(ir::verify(train.program));
    EXPECT_NO_THROW(ir::lower(train.program, capacities_, ir::Recompute::layer));
  }
}

TEST_P(VerifiedProgram, Extends) {
  for (const ir::Kind kind : {ir::Kind::f32, ir::Kind::bf16}) {
    for (const ir::Program& program :
         {build_extend(model_, kind, {.page_tokens = 16}),
          build_extend(model_, kind, {.page_tokens = 16, .slots = 4}, Edits::on),
          build_copy_pages(model_, kind, 16, 8)}) {
      EXPECT_NO_THROW(ir::verify(program));
      EXPECT_NO_THROW(ir::lower(program, capacities_));
    }
  }
}

}  // namespace
}  // namespace parhelion::model
