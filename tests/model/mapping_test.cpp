#include "model/mapping.h"

#include "model/checkpoint_test_support.h"
#include "model/config_test_support.h"
#include "model/gguf_names.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace parhelion::model {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

Model small_llama() {
  Model model = model_of(minimal_config("llama"));
  model.gguf_rope_rows = state::RopeLayout::interleaved;
  return model;
}

std::vector<std::string> parameter_names(const Model& model) {
  std::vector<std::string> result;
  for (const ir::Buffer& parameter : parameters(model)) result.push_back(parameter.name);
  return result;
}

TEST(GgufNames, FollowTheModules) {
  EXPECT_EQ(gguf_name("model.embed_tokens.weight"), "token_embd.weight");
  EXPECT_EQ(gguf_name("model.norm.weight"), "output_norm.weight");
  EXPECT_EQ(gguf_name("lm_head.weight"), "output.weight");
  EXPECT_EQ(gguf_name("model.layers.12.self_attn.q_proj.bias"), "blk.12.attn_q.bias");
  EXPECT_EQ(gguf_name("model.layers.0.self_attn.k_norm.weight"), "blk.0.attn_k_norm.weight");
  EXPECT_EQ(gguf_name("model.layers.3.post_attention_layernorm.weight"), "blk.3.ffn_norm.weight");
  EXPECT_EQ(gguf_name("model.layers.3.mlp.down_proj.weight"), "blk.3.ffn_down.weight");
}

class GoldenCheckpoint : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Model, GoldenCheckpoint, testing::ValuesIn(kGoldenModels),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(GoldenCheckpoint, HoldsJustTheParametersOfItsModel) {
  const OpenedModel opened = open_model(golden_path(GetParam()));
  EXPECT_THAT(opened.checkpoint.names(), UnorderedElementsAreArray(parameter_names(opened.model)));
  EXPECT_EQ(loaded(opened).size(), opened.checkpoint.tensors().size());
}

TEST_P(GoldenCheckpoint, OpensAsATrainingCheckpointWithTheSameBytes) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / "parhelion_own" / GetParam();
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  std::filesystem::copy(golden_path(GetParam()) / "config.json", directory);
  const OpenedModel original = open_model(golden_path(GetParam()));
  state::SafetensorsWriter writer(directory, 20'000, kParametersStem);
  load_parameters(original, [&writer](state::TensorView tensor) { writer.add(tensor); });
  writer.finish();
  EXPECT_TRUE(holds_own_parameters(directory));
  EXPECT_FALSE(holds_own_parameters(golden_path(GetParam())));
  const OpenedModel opened = open_model(directory);
  const auto expected = loaded(original);
  const auto found = loaded(opened);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected)
    EXPECT_EQ(values_of(found.at(name)), values_of(tensor)) << name;
  std::filesystem::remove_all(directory);
}

TEST_P(GoldenCheckpoint, ComesBackFromGgufNamesByteForByte) {
  Model model = open_model(golden_path(GetParam())).model;
  model.gguf_rope_rows = state::RopeLayout::interleaved;
  const auto direct = loaded(opened_with(model, CheckpointFormat::hugging_face,
                                         tensors_for(model, CheckpointFormat::hugging_face)));
  const auto through = loaded(
      opened_with(model, CheckpointFormat::gguf, tensors_for(model, CheckpointFormat::gguf)));
  ASSERT_EQ(direct.size(), through.size());
  for (const auto& [name, tensor] : direct)
    EXPECT_EQ(values_of(tensor), values_of(through.at(name))) << name;
}

TEST(GgufMapping, PutsRowsOfAHeadBackIntoHalves) {
  Json config = with(with(minimal_config("llama"), "hidden_size", 1), "head_dim", 4);
  config = with(with(config, "num_attention_heads", 2), "num_key_value_heads", 1);
  Model model = model_of(config);
  model.gguf_rope_rows = state::RopeLayout::interleaved;
  std::vector<state::TensorView> tensors = tensors_for(model, CheckpointFormat::gguf);
  for (state::TensorView& tensor : tensors)
    if (tensor.name == "blk.0.attn_q.weight") tensor = counting_tensor(tensor.name, {8, 1}, 0.0F);
  const auto parameters_by_name =
      loaded(opened_with(model, CheckpointFormat::gguf, std::move(tensors)));
  EXPECT_THAT(values_of(parameters_by_name.at("model.layers.0.self_attn.q_proj.weight")),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(GgufMapping, KeepsRowsOfQwen3) {
  const Model model = model_of(minimal_config("qwen3"));
  std::vector<state::TensorView> tensors = tensors_for(model, CheckpointFormat::gguf);
  const auto by_name = loaded(opened_with(model, CheckpointFormat::gguf, tensors));
  const auto query = std::find_if(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return tensor.name == "blk.1.attn_q.weight";
  });
  ASSERT_NE(query, tensors.end());
  EXPECT_EQ(values_of(by_name.at("model.layers.1.self_attn.q_proj.weight")), values_of(*query));
}

TEST(Mapping, NamesUnknownTensors) {
  const Model model = small_llama();
  std::vector<state::TensorView> tensors = tensors_for(model, CheckpointFormat::hugging_face);
  tensors.push_back(counting_tensor("model.layers.0.self_attn.q_norm.weight", {8}, 0.0F));
  const OpenedModel opened = opened_with(model, CheckpointFormat::hugging_face, std::move(tensors));
  EXPECT_THAT(error_of([&opened] { loaded(opened); }),
              testing::AllOf(testing::StartsWith("invalid: "),
                             testing::HasSubstr("'model.layers.0.self_attn.q_norm.weight'")));
}

TEST(Mapping, NamesMissingTensors) {
  const Model model = small_llama();
  std::vector<state::TensorView> tensors = tensors_for(model, CheckpointFormat::hugging_face);
  std::erase_if(tensors, [](const auto& tensor) { return tensor.name == "model.norm.weight"; });
  const OpenedModel opened = opened_with(model, CheckpointFormat::hugging_face, std::move(tensors));
  EXPECT_THAT(
      error_of([&opened] { loaded(opened); }),
      testing::AllOf(testing::StartsWith("invalid: "), testing::HasSubstr("'model.norm.weight'")));
}

TEST(Mapping, NamesATensorOfTheWrongShape) {
  const Model model = small_llama();
  std::vector<state::TensorView> tensors = tensors_for(model, CheckpointFormat::hugging_face);
  for (state::TensorView& tensor : tensors)
    if (tensor.name == "model.norm.weight") tensor = counting_tensor(tensor.name, {47}, 0.0F);
  const OpenedModel opened = opened_with(model, CheckpointFormat::hugging_face, std::move(tensors));
  EXPECT_EQ(error_of([&opened] { loaded(opened); }),
            "invalid: test: tensor 'model.norm.weight' has shape [47], expected [48]");
}

TEST(Mapping, IgnoresWhatTheModelComputesItself) {
  const Model model = model_of(with(minimal_config("llama"), "tie_word_embeddings", true));
  std::vector<state::TensorView> tensors = tensors_for(model, CheckpointFormat::hugging_face);
  tensors.push_back(counting_tensor("lm_head.weight", {160, 48}, 0.0F));
  tensors.push_back(counting_tensor("model.layers.0.self_attn.rotary_emb.inv_freq", {4}, 0.0F));
  const OpenedModel opened = opened_with(model, CheckpointFormat::hugging_face, std::move(tensors));
  EXPECT_EQ(loaded(opened).size(), parameters(model).size());
}

}  // namespace
}  // namespace parhelion::model
