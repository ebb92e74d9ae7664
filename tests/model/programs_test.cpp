#include "model/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <variant>

namespace parhelion::model {
namespace {

using testing::ElementsAre;

Decoder tiny_decoder() {
  return {.vocabulary = 160,
          .hidden = 32,
          .layers = 2,
          .attention = {.heads = 4, .kv_heads = 2, .head_dim = 16},
          .mlp = {.intermediate = 72},
          .rope = {.positions = 64, .dim = 16}};
}

Model tiny_model(const Decoder& config) {
  return {.architecture = "tiny",
          .layers = config.layers,
          .build = [config](ir::Builder& builder, ir::Kind kind, Context& context) {
            return decoder(builder, kind, config, context);
          }};
}

std::vector<std::string> names_of(const ir::Program& program, ir::Role role) {
  std::vector<std::string> result;
  for (const ir::Buffer& buffer : program.buffers)
    if (buffer.role == role) result.push_back(buffer.name);
  return result;
}

const ir::Buffer& buffer_of(const ir::Program& program, std::string_view name) {
  return program.at(ir::find_buffer(program, name));
}

TEST(TrainProgram, HasTheBuffersThatTrainersBind) {
  const ir::Program program = build_train(tiny_model(tiny_decoder()), ir::Kind::f32).program;
  EXPECT_THAT(names_of(program, ir::Role::input),
              ElementsAre("token_ids", "positions", "document_indptr", "labels", "loss_weight"));
  EXPECT_THAT(names_of(program, ir::Role::output), ElementsAre("loss", "total_loss"));
  EXPECT_THAT(names_of(program, ir::Role::constant), ElementsAre("rope_table"));
}

TEST(TrainProgram, NamesParametersLikeHuggingFace) {
  Decoder config = tiny_decoder();
  config.layers = 1;
  config.attention.qk_norm_eps = 1e-6;
  config.attention.projection_bias = true;
  const ir::Program program = build_train(tiny_model(config), ir::Kind::bf16).program;
  const std::string layer = "model.layers.0.";
  EXPECT_THAT(
      names_of(program, ir::Role::parameter),
      ElementsAre("model.embed_tokens.weight", layer + "input_layernorm.weight",
                  layer + "self_attn.q_proj.weight", layer + "self_attn.q_proj.bias",
                  layer + "self_attn.k_proj.weight", layer + "self_attn.k_proj.bias",
                  layer + "self_attn.v_proj.weight", layer + "self_attn.v_proj.bias",
                  layer + "self_attn.q_norm.weight", layer + "self_attn.k_norm.weight",
                  layer + "self_attn.o_proj.weight", layer + "post_attention_layernorm.weight",
                  layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight",
                  layer + "mlp.down_proj.weight", "model.norm.weight", "lm_head.weight"));
  EXPECT_EQ(buffer_of(program, "lm_head.weight").type, ir::TensorType(ir::Kind::bf16, {160, 32}));
}

TEST(TrainProgram, HasNoHeadWeightOfItsOwnWhereTied) {
  Decoder config = tiny_decoder();
  config.tied_head = true;
  const ir::Program program = build_train(tiny_model(config), ir::Kind::f32).program;
  EXPECT_FALSE(ir::find_buffer(program, "lm_head.weight"));
}

TEST(TrainProgram, DifferentiatesAScalarF32) {
  const TrainProgram train = build_train(tiny_model(tiny_decoder()), ir::Kind::bf16);
  EXPECT_EQ(train.program.at(train.total_loss).type, ir::TensorType(ir::Kind::f32, {}));
}

TEST(TrainProgram, HandsThePromiseOnDocumentsToAttention) {
  const ir::Program program =
      build_train(tiny_model(tiny_decoder()), ir::Kind::f32, Dropout::off, 24).program;
  std::vector<std::int64_t> promises;
  for (const ir::OpNode& node : program.ops) {
    const auto* attention = std::get_if<ir::Attention>(&node.op);
    if (attention != nullptr) promises.push_back(attention->longest);
  }
  EXPECT_THAT(promises, ElementsAre(24, 24));
}

TEST(TrainProgram, GivesEmbeddingLayersAndHeadTheirPlaces) {
  const ir::Program program = build_train(tiny_model(tiny_decoder()), ir::Kind::f32).program;
  EXPECT_EQ(program.ops.front().layer, 0);
  EXPECT_EQ(program.ops.back().layer, 3);
  EXPECT_TRUE(
      std::is_sorted(program.ops.begin(), program.ops.end(),
                     [](const ir::OpNode& a, const ir::OpNode& b) { return a.layer < b.layer; }));
}

TEST(ExtendProgram, HasTheBuffersThatEnginesBind) {
  const ir::Program program =
      build_extend(tiny_model(tiny_decoder()), ir::Kind::f32, {.page_tokens = 16});
  EXPECT_THAT(
      names_of(program, ir::Role::input),
      ElementsAre("token_ids", "token_source", "positions", "query_indptr", "kv_length",
                  "page_table", "write_location", "logit_index", "target_ids", "temperature",
                  "top_k", "top_p", "min_p", "seed", "draw_offset", "draw_slot"));
  EXPECT_THAT(names_of(program, ir::Role::output),
              ElementsAre("log_probability", "sampled_ids", "sampled_log_probability"));
  EXPECT_THAT(names_of(program, ir::Role::state),
              ElementsAre("drawn_tokens", "cache.layers.0.key", "cache.layers.0.value",
                          "cache.layers.1.key", "cache.layers.1.value"));
}

TEST(ExtendProgram, KeepsPagesInTheKindOfItsActivations) {
  const ir::Program program =
      build_extend(tiny_model(tiny_decoder()), ir::Kind::bf16, {.page_tokens = 16});
  EXPECT_EQ(buffer_of(program, "cache.layers.1.value").type,
            ir::TensorType(ir::Kind::bf16, {ir::Symbol::pages, 16, 2, 16}));
}

TEST(ExtendProgram, WithEditsHasWhatTheyReadAndTell) {
  const ir::Program program =
      build_extend(tiny_model(tiny_decoder()), ir::Kind::f32, {.page_tokens = 16}, Edits::on);
  EXPECT_EQ(program.name, "extend_edited");
  const auto inputs = names_of(program, ir::Role::input);
  EXPECT_THAT(inputs, testing::IsSupersetOf({"edit_indptr", "edit_ids", "edit_bias", "edit_scale",
                                             "edit_subtract", "token_mask", "draw_slot"}));
  EXPECT_THAT(
      names_of(program, ir::Role::output),
      testing::UnorderedElementsAre("log_probability", "sampled_ids", "sampled_log_probability",
                                    "top_ids", "top_log_probability"));
  EXPECT_EQ(ir::to_string(buffer_of(program, "edit_ids").type), "i32[512*logit_rows+4096]");
  EXPECT_EQ(ir::to_string(buffer_of(program, "token_mask").type), "i32[logit_rows, 5]");
  EXPECT_EQ(ir::to_string(buffer_of(program, "top_ids").type), "i32[logit_rows, 20]");
}

TEST(CopyPagesProgram, HasTheCachesOfTheExtendProgram) {
  const Model model = tiny_model(tiny_decoder());
  const ir::Program extend = build_extend(model, ir::Kind::bf16, {.page_tokens = 16});
  const ir::Program program = build_copy_pages(model, ir::Kind::bf16, 16, 8);
  EXPECT_THAT(names_of(program, ir::Role::input), ElementsAre("source_page", "destination_page"));
  std::vector<std::string> caches = names_of(extend, ir::Role::state);
  std::erase(caches, "drawn_tokens");
  EXPECT_EQ(names_of(program, ir::Role::state), caches);
  for (const std::string& name : caches)
    EXPECT_EQ(buffer_of(program, name).type, buffer_of(extend, name).type);
}

TEST(ExtendProgram, SharesEveryParameterWithTraining) {
  const Model model = tiny_model(tiny_decoder());
  EXPECT_EQ(names_of(build_extend(model, ir::Kind::f32, {.page_tokens = 16}), ir::Role::parameter),
            names_of(build_train(model, ir::Kind::f32).program, ir::Role::parameter));
}

}  // namespace
}  // namespace parhelion::model
