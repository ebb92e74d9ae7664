#pragma once

#include "app/model_files.h"
#include "model/open.h"
#include "support/test_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::app {

/// The model that ships with the tests, as a Hugging Face directory and as a GGUF file of the same
/// float32 weights (tests/golden/tiny_gguf.py).
inline std::filesystem::path tiny_directory() {
  return std::filesystem::path(PARHELION_TEST_DATA) / "model" / "llama_tiny";
}
inline std::filesystem::path tiny_gguf() {
  return std::filesystem::path(PARHELION_TEST_DATA) / "app" / "llama_tiny.gguf";
}

/// All files that a checkpoint takes along.
inline std::vector<train::ModelFile> model_files(const std::filesystem::path& model) {
  std::vector<train::ModelFile> files = config_files(model);
  std::ranges::move(tokenizer_files(model), std::back_inserter(files));
  return files;
}

/// The bytes of every parameter, by name.
inline std::map<std::string, std::string> parameter_bytes(const std::filesystem::path& model) {
  std::map<std::string, std::string> bytes;
  const model::OpenedModel opened = model::open_model(model);
  model::load_parameters(opened, [&bytes](const state::TensorView& tensor) {
    bytes[tensor.name] = {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
  });
  return bytes;
}

/// Models and checkpoints of one test.
class ModelFilesTest : public TestDirectory {
 protected:
  void copy_tiny(const std::filesystem::path& to) const {
    std::filesystem::create_directories(to);
    for (const char* name : {"config.json", "generation_config.json", "model.safetensors",
                             "tokenizer.json", "tokenizer_config.json"})
      std::filesystem::copy(tiny_directory() / name, to);
  }
  /// Saves the tiny model as the checkpoint of a step; gives its directory.
  std::filesystem::path save_checkpoint(std::int64_t step,
                                        const std::filesystem::path& source) const {
    const model::OpenedModel opened = model::open_model(tiny_directory());
    std::vector<state::TensorView> parameters;
    model::load_parameters(opened, [&](state::TensorView tensor) { parameters.push_back(tensor); });
    return train::write_checkpoint({.parameters = parameters, .facts = {.step = step}},
                                   {.directory = directory_ / "run" / "checkpoints",
                                    .model_files = model_files(source)})
        .directory;
  }
};

}  // namespace parhelion::app
