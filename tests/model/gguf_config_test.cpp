#include "ir/print.h"
#include "model/checkpoint_test_support.h"
#include "model/config_test_support.h"
#include "model/programs.h"

#include <gmock/gmock.h>

#include <cmath>

namespace parhelion::model {
namespace {

using testing::ElementsAre;

using Entries = std::vector<state::MetadataEntry>;

Entries small_gguf_keys() {
  return {{"general.architecture", std::string_view("llama")},
          {"llama.block_count", std::uint32_t{1}},
          {"llama.context_length", std::uint32_t{64}},
          {"llama.embedding_length", std::uint32_t{16}},
          {"llama.feed_forward_length", std::uint32_t{24}},
          {"llama.attention.head_count", std::uint32_t{2}},
          {"llama.attention.head_count_kv", std::uint32_t{1}},
          {"llama.attention.layer_norm_rms_epsilon", 1e-5F},
          {"llama.rope.freq_base", 500000.0F},
          {"tokenizer.ggml.eos_token_id", std::uint32_t{2}},
          {"tokenizer.ggml.eot_token_id", std::uint32_t{5}}};
}

state::Checkpoint gguf_checkpoint(Entries entries, std::vector<state::TensorView> more = {}) {
  std::vector<state::TensorView> tensors{counting_tensor("token_embd.weight", {32, 16}, 0.0F)};
  for (state::TensorView& tensor : more) tensors.push_back(std::move(tensor));
  return {
      "test.gguf", {}, std::move(tensors), state::GgufMetadata("test.gguf", std::move(entries))};
}

Model gguf_model(Entries entries, std::vector<state::TensorView> more = {}) {
  const state::Checkpoint checkpoint = gguf_checkpoint(std::move(entries), std::move(more));
  return find_recipe(*checkpoint.metadata()).from_gguf(checkpoint);
}

std::string gguf_error(std::string_view key, state::MetadataValue value) {
  Entries entries = small_gguf_keys();
  entries.emplace_back(key, value);
  return error_of([&entries] { gguf_model(entries); });
}

/// The divisors that the rule of Llama 3.1 gives for 8 frequencies to base 500000.
std::vector<float> llama31_divisors() {
  std::vector<float> result;
  for (int i = 0; i < 8; ++i) {
    const double wavelength = 2.0 * M_PI * std::pow(500000.0, i / 8.0);
    const double smooth = (8192.0 / wavelength - 1.0) / 3.0;
    const double between = 1.0 / ((1.0 - smooth) / 8.0 + smooth);
    result.push_back(static_cast<float>(wavelength < 2048   ? 1.0
                                        : wavelength > 8192 ? 8.0
                                                            : between));
  }
  return result;
}

state::TensorView divisors_tensor(const std::vector<float>& divisors) {
  state::TensorView tensor =
      counting_tensor("rope_freqs.weight", {static_cast<std::int64_t>(divisors.size())}, 0.0F);
  std::shared_ptr<std::byte[]> storage(new std::byte[tensor.bytes.size()]);
  std::memcpy(storage.get(), divisors.data(), tensor.bytes.size());
  tensor.bytes = {storage.get(), tensor.bytes.size()};
  tensor.storage = storage;
  return tensor;
}

/// Head dim 16, so that there are as many frequencies as `llama31_divisors` has.
Entries wide_head_keys() {
  Entries entries = small_gguf_keys();
  entries.emplace_back("llama.attention.key_length", std::uint32_t{16});
  return entries;
}

TEST(GgufConfig, GivesTheDimsOfTheModel) {
  const Model model = gguf_model(small_gguf_keys());
  EXPECT_EQ(model.architecture, "llama");
  EXPECT_EQ(model.vocabulary, 32);
  EXPECT_EQ(model.hidden, 16);
  EXPECT_EQ(model.layers, 1);
  EXPECT_EQ(model.heads, 2);
  EXPECT_EQ(model.kv_heads, 1);
  EXPECT_EQ(model.head_dim, 8);
  EXPECT_EQ(model.max_positions, 64);
  EXPECT_THAT(model.eos_ids, ElementsAre(2, 5));
  EXPECT_EQ(model.gguf_rope_rows, state::RopeLayout::interleaved);
}

TEST(GgufConfig, TiesTheHeadWhereItHasNoTensor) {
  EXPECT_TRUE(gguf_model(small_gguf_keys()).tied_head);
  EXPECT_FALSE(
      gguf_model(small_gguf_keys(), {counting_tensor("output.weight", {32, 16}, 0.0F)}).tied_head);
}

TEST(GgufConfig, TakesBiasesFromTheTensors) {
  const Model model =
      gguf_model(small_gguf_keys(), {counting_tensor("blk.0.attn_q.bias", {16}, 0.0F)});
  const std::vector<ir::Buffer> all = parameters(model);
  const auto has = [&all](std::string_view name) {
    return std::any_of(all.begin(), all.end(), [name](const auto& p) { return p.name == name; });
  };
  EXPECT_TRUE(has("model.layers.0.self_attn.k_proj.bias"));
  EXPECT_FALSE(has("model.layers.0.self_attn.o_proj.bias"));
  EXPECT_FALSE(has("model.layers.0.mlp.up_proj.bias"));
}

TEST(GgufConfig, HasTheModelOfItsConfigJson) {
  Entries linear = small_gguf_keys();
  linear.emplace_back("llama.rope.scaling.type", std::string_view("linear"));
  linear.emplace_back("llama.rope.scaling.factor", 4.0F);
  const std::array<state::Checkpoint, 3> checkpoints = {
      gguf_checkpoint(small_gguf_keys()),
      gguf_checkpoint(linear, {counting_tensor("output.weight", {32, 16}, 0.0F)}),
      gguf_checkpoint(wide_head_keys(), {divisors_tensor(llama31_divisors())})};
  for (const state::Checkpoint& checkpoint : checkpoints) {
    const Recipe& recipe = find_recipe(*checkpoint.metadata());
    const Model model = recipe.from_gguf(checkpoint);
    const Model back = model_of(recipe.gguf_to_config(checkpoint));
    EXPECT_EQ(ir::print(build_train(back, ir::Kind::f32).program),
              ir::print(build_train(model, ir::Kind::f32).program));
    EXPECT_EQ(back.eos_ids, model.eos_ids);
  }
}

TEST(GgufConfig, NamesUnknownKeys) {
  EXPECT_EQ(gguf_error("llama.expert_count", std::uint32_t{8}),
            "unsupported: gguf: unknown keys 'llama.expert_count'");
  EXPECT_EQ(gguf_error("split.count", std::uint16_t{2}),
            "unsupported: gguf: unknown keys 'split.count'");
  EXPECT_EQ(gguf_error("general.license", std::string_view("apache-2.0")), "no error");
}

TEST(GgufConfig, RefusesWhatItCannotHonour) {
  EXPECT_EQ(gguf_error("llama.rope.scaling.type", std::string_view("yarn")),
            "unsupported: rope.scaling.type is \"yarn\", expected \"none\" or \"linear\"");
  EXPECT_EQ(gguf_error("llama.rope.dimension_count", std::uint32_t{4}),
            "unsupported: rope.dimension_count is 4, expected the head dim 8");
  EXPECT_EQ(gguf_error("llama.attention.value_length", std::uint32_t{4}),
            "unsupported: attention.value_length is 4, expected attention.key_length = 8");
}

TEST(GgufConfig, NamesAnUnknownArchitecture) {
  EXPECT_EQ(error_of([] {
              gguf_model({{"general.architecture", std::string_view("gemma3")}});
            }),
            "unsupported: general.architecture is \"gemma3\", expected one of llama, qwen3");
}

TEST(GgufConfig, ReadsLinearScaling) {
  Entries entries = small_gguf_keys();
  entries.emplace_back("llama.rope.scaling.type", std::string_view("linear"));
  entries.emplace_back("llama.rope.scaling.factor", 4.0F);
  const ir::RopeTable rope = rope_of(gguf_model(std::move(entries)));
  EXPECT_EQ(rope.scaling, ir::RopeScaling::linear);
  EXPECT_EQ(rope.factor, 4.0);
  EXPECT_EQ(rope.theta, 500000.0);
}

TEST(GgufConfig, KnowsTheFrequenciesOfLlama3) {
  const Model model = gguf_model(wide_head_keys(), {divisors_tensor(llama31_divisors())});
  const ir::RopeTable rope = rope_of(model);
  EXPECT_EQ(rope.scaling, ir::RopeScaling::by_wavelength);
  EXPECT_EQ(rope.factor, 8.0);
  EXPECT_EQ(rope.original_positions, 8192);
}

TEST(GgufConfig, RefusesFrequenciesOfAnotherRule) {
  std::vector<float> divisors = llama31_divisors();
  divisors[1] = 3.0F;
  EXPECT_EQ(error_of([&] { gguf_model(wide_head_keys(), {divisors_tensor(divisors)}); }),
            "unsupported: rope_freqs.weight: divisor 1 is 3, expected 1 by the rule of Llama 3");
}

}  // namespace
}  // namespace parhelion::model
