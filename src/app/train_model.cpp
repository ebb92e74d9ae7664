#include "app/train_model.h"

#include "app/model_files.h"
#include "app/tokenizer_files.h"
#include "app/weights.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/in_context.h"
#include "model/adapters/open_adapter.h"
#include "model/programs.h"
#include "model/recipes/registry.h"
#include "train/loop/initial_weights.h"
#include "train/loop/programs.h"

namespace parhelion::app {
namespace {

/// A hash of the file that defines the tokenizer.
std::string definition_digest(const std::filesystem::path& model) {
  const MappedFile file(std::filesystem::is_directory(model) ? model / "tokenizer.json" : model);
  return hex(hash128(file.bytes()));
}

train::ModelFile adapter_file(const TrainedModel& trained) {
  const model::AdapterConfig config{.lora = *trained.model.lora,
                                    .base = std::filesystem::absolute(trained.config_path).string(),
                                    .base_digest = trained.base_digest};
  return {.name = std::string(model::kAdapterConfigName),
          .text = model::adapter_config_text(config, model::projections(trained.model))};
}

}  // namespace

TrainedModel open_trained_model(const train::Job& job) {
  if (job.model.path) {
    const std::filesystem::path path =
        in_context("model.path", [&] { return resolve_model(*job.model.path); });
    model::OpenedModel opened = in_context("model.path", [&] { return model::open_model(path); });
    ensure(
        !opened.adapter, ErrorKind::invalid,
        "model.path: {} is an adapter, expected a whole model, as `parhelion export` makes of it",
        path.string());
    std::string digest = job.lora ? model::weights_digest(opened.checkpoint) : "";
    model::Model model = train::model_of_job(opened.model, job);
    return {.model = std::move(model),
            .source = std::move(opened),
            .config_path = path,
            .tokenizer_path = path,
            .base_digest = std::move(digest)};
  }
  model::Model model = in_context("model.config", [&] {
    const Json config = parse_json(read_file(*job.model.config), job.model.config->string());
    return model::find_recipe(config).from_config(config);
  });
  return {.model = std::move(model),
          .source = {},
          .config_path = *job.model.config,
          .tokenizer_path = *job.model.tokenizer};
}

train::TokenRules token_rules(const TrainedModel& trained) {
  const std::string_view key = trained.source ? "model.path" : "model.tokenizer";
  text::Tokenizer tokenizer =
      in_context(key, [&] { return load_tokenizer(trained.tokenizer_path); });
  train::TokenRules rules{.tokenizer = std::move(tokenizer),
                          .tokenizer_digest = definition_digest(trained.tokenizer_path),
                          .eos = {},
                          .vocabulary = trained.model.vocabulary,
                          .chat_template = load_chat_template(trained.tokenizer_path)};
  rules.eos = rules.tokenizer.special_ids().eos;
  if (!trained.model.eos_ids.empty()) rules.eos = trained.model.eos_ids.front();
  return rules;
}

std::vector<train::ModelFile> model_files(const TrainedModel& trained) {
  std::vector<train::ModelFile> files = config_files(trained.config_path);
  for (train::ModelFile& file : tokenizer_files(trained.tokenizer_path))
    files.push_back(std::move(file));
  if (trained.model.lora) files.push_back(adapter_file(trained));
  return files;
}

void upload_first_weights(const TrainedModel& trained, const train::Job& job,
                          std::span<const ir::Buffer> parameters, exec::Executor& executor) {
  const auto seed = static_cast<std::uint64_t>(job.run.seed);
  if (!trained.source)
    return train::initialise_weights(parameters, trained.model.initial_deviation, seed, executor);
  upload_weights(*trained.source, kind(job.model.dtype), executor);
  if (trained.model.lora)
    train::initialise_adapters(*trained.model.lora, parameters, seed, executor);
}

}  // namespace parhelion::app
