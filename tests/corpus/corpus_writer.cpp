// Makes the corpus again: corpus_writer DIRECTORY. See tests/corpus/README.md.
#include "app/model_files.h"
#include "app/tiny_core.h"
#include "base/file.h"
#include "base/random.h"
#include "state/safetensors_writer.h"

#include <cstdio>
#include <exception>

namespace parhelion {
namespace {

void write_text(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// A model of another architecture with the tokenizer of the tiny one, and weights from a seed.
constexpr std::string_view kDrawnConfig = R"({
  "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 320,
  "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512,
  "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": true, "eos_token_id": 2
})";
constexpr std::uint64_t kDrawnSeed = 11;
constexpr float kDrawnDeviation = 0.3f;

/// Norms are around one, other weights around zero.
state::TensorView drawn_tensor(const ir::Buffer& parameter, std::uint64_t tag) {
  state::TensorView tensor;
  tensor.name = parameter.name;
  for (const ir::Dim& dim : parameter.type.shape) tensor.shape.push_back(ir::number(dim));
  const auto count = static_cast<std::size_t>(*state::element_count(tensor.shape));
  const auto values = std::make_shared<std::vector<float>>(count);
  const float mean = tensor.shape.size() == 1 ? 1.0f : 0.0f;
  for (std::size_t i = 0; i < count; ++i)
    (*values)[i] = mean + kDrawnDeviation * normal(kDrawnSeed, tag, i);
  tensor.bytes = std::as_bytes(std::span(*values));
  tensor.storage = std::shared_ptr<const std::byte[]>(values, tensor.bytes.data());
  return tensor;
}

void write_drawn_model(const std::filesystem::path& directory) {
  write_text(directory / "config.json", kDrawnConfig);
  const model::Model model = app::model_of_config(directory);
  state::SafetensorsWriter writer(directory, state::kDefaultShardBytes);
  std::uint64_t tag = 0;
  for (const ir::Buffer& parameter : model::parameters(model))
    writer.add(drawn_tensor(parameter, tag++));
  writer.finish();
}

void write_entry(const std::filesystem::path& core, const std::filesystem::path& model,
                 const std::filesystem::path& tokenizer, ir::Kind kind) {
  app::write_model_core(core, model, tokenizer, kind);
  const contract::Core read = contract::read_core(core, app::corpus_trust());
  std::filesystem::path beside = core;
  write_text(beside.replace_extension(".txt"), contract::describe(read));
  write_text(beside.replace_extension(".tokens"), app::core_tokens(read));
}

void write_corpus(const std::filesystem::path& directory) {
  write_text(directory / "corpus.pub",
             fmt::format("parhelion-public-key ed25519 {} corpus\n",
                         contract::hex(contract::public_key(app::kCorpusKey))));
  const std::filesystem::path tiny =
      std::filesystem::path(PARHELION_TEST_DATA) / "model" / "llama_tiny";
  write_entry(directory / "tiny.core", tiny, tiny, ir::Kind::bf16);
  const TemporaryDirectory drawn(directory / "drawn.partial");
  write_drawn_model(drawn.path());
  write_entry(directory / "drawn.core", drawn.path(), tiny, ir::Kind::f32);
}

}  // namespace
}  // namespace parhelion

int main(int argument_count, char** arguments) try {
  if (argument_count != 2) {
    fmt::print(stderr, "usage: {} DIRECTORY\n", arguments[0]);
    return 2;
  }
  parhelion::write_corpus(arguments[1]);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
