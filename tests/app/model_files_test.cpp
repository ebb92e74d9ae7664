#include "app/model_files.h"

#include "app/model_test_support.h"
#include "app/tokenizer_files.h"
#include "base/error.h"
#include "base/file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <utility>

namespace parhelion::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> names_of(const std::vector<train::ModelFile>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const train::ModelFile& file : files) names.push_back(file.name);
  return names;
}

class CheckpointAsModel : public ModelFilesTest,
                          public testing::WithParamInterface<std::filesystem::path (*)()> {};
INSTANTIATE_TEST_SUITE_P(Sources, CheckpointAsModel, testing::Values(&tiny_directory, &tiny_gguf),
                         [](const auto& one) { return one.index == 0 ? "directory" : "gguf"; });

TEST_P(CheckpointAsModel, HasTheParametersConfigAndTokenizerOfItsSource) {
  const std::filesystem::path source = GetParam()();
  const std::filesystem::path path = resolve_model(save_checkpoint(7, source));
  EXPECT_EQ(parameter_bytes(path), parameter_bytes(tiny_directory()));
  const model::Model saved = model::open_model(path).model;
  const model::Model original = model::open_model(source).model;
  EXPECT_EQ(saved.eos_ids, original.eos_ids);
  EXPECT_EQ(saved.sampling, original.sampling);
  EXPECT_EQ(load_chat_template(path), load_chat_template(source));
  const std::string text = "The sun <|im_end|> rose.";
  EXPECT_EQ(load_tokenizer(path).encode(text), load_tokenizer(source).encode(text));
}

TEST_P(CheckpointAsModel, GivesItsFilesToTheNextCheckpointUnchanged) {
  const std::filesystem::path path = save_checkpoint(7, GetParam()());
  EXPECT_EQ(model_files(path), model_files(GetParam()()));
}

TEST_F(ModelFilesTest, ARunStandsForItsNewestCheckpointThatIsWhole) {
  save_checkpoint(7, tiny_directory());
  const std::filesystem::path newest = save_checkpoint(12, tiny_directory());
  EXPECT_EQ(resolve_model(directory_ / "run"), newest);
  EXPECT_EQ(resolve_model(newest), newest);
  std::filesystem::resize_file(newest / "parameters.safetensors", 1000);
  EXPECT_EQ(resolve_model(directory_ / "run").filename(), "step-00000007");
  EXPECT_THAT([&] { resolve_model(newest); },
              ThrowsMessage<Error>(HasSubstr("parameters.safetensors: has 1000 bytes")));
}

/// What the program writes to standard output.
std::string output_of(const std::string& arguments) {
  FILE* pipe = ::popen((std::string("'") + PARHELION_BINARY + "' " + arguments).c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), count);
  EXPECT_EQ(::pclose(pipe), 0) << arguments;
  return output;
}

TEST_F(ModelFilesTest, EveryCommandTakesACheckpointOrARun) {
  const std::filesystem::path checkpoint = save_checkpoint(7, tiny_gguf());
  put(directory_ / "text", "The sun rises over the ice.");
  const std::string text = (directory_ / "text").string();
  for (const std::filesystem::path& model : {checkpoint, directory_ / "run"}) {
    for (const auto& [command, rest] :
         {std::pair<std::string, std::string>{"score", "--threads 1 --json " + text},
          {"tokenize", text},
          {"explain", "--threads 1"},
          {"generate", "--threads 1 --temperature 0 --chat 'What is a parhelion?'"}}) {
      EXPECT_EQ(output_of(fmt::format("{} {} {}", command, model.string(), rest)),
                output_of(fmt::format("{} {} {}", command, tiny_gguf().string(), rest)));
    }
  }
  const std::filesystem::path out = directory_ / "out";
  output_of(fmt::format("export {} {}", (directory_ / "run").string(), out.string()));
  EXPECT_EQ(parameter_bytes(out), parameter_bytes(tiny_directory()));
}

TEST_F(ModelFilesTest, ARunWithoutACheckpointSaysSo) {
  std::filesystem::create_directories(directory_ / "run" / "checkpoints");
  EXPECT_THAT([&] { resolve_model(directory_ / "run"); },
              ThrowsMessage<Error>(HasSubstr("run: this run has no finished checkpoint yet")));
}

TEST_F(ModelFilesTest, AnUnfinishedCheckpointIsNoModel) {
  const std::filesystem::path path = save_checkpoint(7, tiny_directory());
  std::filesystem::remove(path / "manifest.json");
  EXPECT_THAT([&] { resolve_model(path); },
              ThrowsMessage<Error>(HasSubstr("has no manifest.json, so it is no finished")));
}

TEST_F(ModelFilesTest, OtherModelsStandForThemselves) {
  EXPECT_EQ(resolve_model(tiny_directory()), tiny_directory());
  EXPECT_EQ(resolve_model(tiny_gguf()), tiny_gguf());
  EXPECT_EQ(resolve_model("/none"), "/none");
}

TEST_F(ModelFilesTest, TakesTheFilesThatAreThere) {
  EXPECT_THAT(names_of(config_files(tiny_directory())),
              ElementsAre("config.json", "generation_config.json"));
  EXPECT_THAT(names_of(tokenizer_files(tiny_directory())),
              ElementsAre("tokenizer.json", "tokenizer_config.json"));
  EXPECT_THAT(names_of(config_files(tiny_directory() / "config.json")), ElementsAre("config.json"));
  EXPECT_THAT([&] { config_files(directory_); },
              ThrowsMessage<Error>(HasSubstr("has no config.json")));
  put(directory_ / "t" / "chat_template.jinja", "x");
  put(directory_ / "t" / "special_tokens_map.json", "{}");
  put(directory_ / "t" / "other.json", "{}");
  EXPECT_THAT(names_of(tokenizer_files(directory_ / "t")),
              ElementsAre("chat_template.jinja", "special_tokens_map.json"));
}

}  // namespace
}  // namespace parhelion::app
