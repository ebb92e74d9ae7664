#include "app/model_files.h"

#include "app/tokenizer_files.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/adapters/open_adapter.h"
#include "model/recipes/decoder_config.h"
#include "model/recipes/registry.h"
#include "state/checkpoint.h"
#include "state/gguf_header.h"
#include "text/gguf_to_json.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace parhelion::app {
namespace {

namespace fs = std::filesystem;
using ModelFiles = std::vector<train::ModelFile>;

bool is_run_directory(const fs::path& path) {
  return fs::is_directory(path / "checkpoints") && !fs::exists(path / "config.json");
}

/// Those of the named files that the directory has.
ModelFiles read_files(const fs::path& directory, std::initializer_list<std::string_view> names) {
  ModelFiles files;
  for (const std::string_view name : names) {
    if (fs::exists(directory / name))
      files.push_back({.name = std::string(name), .text = read_file(directory / name)});
  }
  return files;
}

/// Adds the tokens that begin and fill up a text, which no part of a model's own reads.
Json with_token_ids(const Json& config, const text::GgufVocabulary& vocabulary) {
  Json::Object members = config.as_object("config");
  if (vocabulary.bos_id) members.emplace_back("bos_token_id", *vocabulary.bos_id);
  if (vocabulary.pad_id) members.emplace_back("pad_token_id", *vocabulary.pad_id);
  return members;
}

ModelFiles gguf_config_files(const state::Checkpoint& checkpoint) {
  const model::Recipe& recipe = model::find_recipe(*checkpoint.metadata());
  const text::GgufVocabulary vocabulary = gguf_vocabulary(*checkpoint.metadata());
  const Json config = recipe.gguf_to_config(checkpoint);
  const Json generation = model::generation_config_of(recipe.from_gguf(checkpoint));
  return {{.name = "config.json", .text = write_json(with_token_ids(config, vocabulary))},
          {.name = "generation_config.json",
           .text = write_json(with_token_ids(generation, vocabulary))}};
}

bool is_gguf_file(const fs::path& path) { return state::is_gguf(MappedFile(path).bytes()); }

/// Of a run directory its newest checkpoint that is whole, else the path itself.
fs::path resolve_run(const fs::path& model, train::Verify verify) {
  if (is_run_directory(model)) {
    const auto newest = train::open_newest_checkpoint(model / "checkpoints", verify);
    ensure(newest.has_value(), ErrorKind::invalid, "{}: this run has no finished checkpoint yet",
           model.string());
    return newest->directory;
  }
  if (model::holds_own_parameters(model)) train::open_train_checkpoint(model, verify);
  return model;
}

}  // namespace

fs::path resolve_model(const fs::path& model, train::Verify verify) {
  fs::path path = resolve_run(model, verify);
  ensure(!model::is_adapter(path) || model::holds_own_parameters(path), ErrorKind::invalid,
         "{}: is an adapter, expected a model; give its base as MODEL and this as --adapter",
         path.string());
  return path;
}

model::OpenedModel open_with_adapter(const fs::path& model, const fs::path& adapter) {
  model::OpenedModel opened = model::open_model(model);
  if (adapter.empty()) return opened;
  return model::with_adapter(std::move(opened), resolve_run(adapter, train::Verify::sizes));
}

model::Model model_of_config(const fs::path& path) {
  const fs::path file = fs::is_directory(path) ? path / "config.json" : path;
  const Json config = parse_json(read_file(file), file.string());
  return model::find_recipe(config).from_config(config);
}

ModelFiles config_files(const fs::path& model) {
  if (fs::is_directory(model)) {
    ModelFiles files = read_files(model, {"config.json", "generation_config.json"});
    ensure(!files.empty() && files.front().name == "config.json", ErrorKind::invalid,
           "{}: has no config.json", model.string());
    return files;
  }
  if (!is_gguf_file(model)) return {{.name = "config.json", .text = read_file(model)}};
  return gguf_config_files(state::open_checkpoint(model));
}

ModelFiles tokenizer_files(const fs::path& model) {
  if (fs::is_directory(model)) {
    return read_files(model, {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                              "special_tokens_map.json", "added_tokens.json", "vocab.json",
                              "merges.txt", "tokenizer.model"});
  }
  const state::Checkpoint checkpoint = state::open_checkpoint(model);
  const text::GgufVocabulary vocabulary = gguf_vocabulary(gguf_metadata(checkpoint));
  return {{.name = "tokenizer.json", .text = text::gguf_to_tokenizer_json(vocabulary)},
          {.name = "tokenizer_config.json",
           .text = text::gguf_to_tokenizer_config(vocabulary, load_chat_template(model))}};
}

}  // namespace parhelion::app
