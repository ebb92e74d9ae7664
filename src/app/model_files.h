#pragma once

#include "model/open.h"
#include "train/checkpoint/open_checkpoint.h"
#include "train/checkpoint/write_checkpoint.h"

#include <filesystem>
#include <vector>

namespace parhelion::app {

/// What a MODEL argument stands for: of a run directory its newest checkpoint that is whole, else
/// the path itself. A training checkpoint is verified.
///
/// Errors: invalid if a run has no checkpoint yet, or the path is an adapter without a model; as
///         train::open_train_checkpoint.
std::filesystem::path resolve_model(const std::filesystem::path& model,
                                    train::Verify verify = train::Verify::sizes);

/// Opens a MODEL with the adapter in `adapter`, which may be a run directory too; an empty path is
/// no adapter.
///
/// Errors: as model::open_model, model::with_adapter and resolve_model.
model::OpenedModel open_with_adapter(const std::filesystem::path& model,
                                     const std::filesystem::path& adapter);

/// The model that a config.json describes, given by its path or its directory's; it has no weights.
///
/// Errors: as model::find_recipe and model::Recipe::from_config.
model::Model model_of_config(const std::filesystem::path& path);

/// The config.json and generation_config.json of a model: of a directory as they stand, or of a
/// config.json given by its own path; of a GGUF file, written from its keys.
///
/// Errors: invalid if there is no config; as model::Recipe::gguf_to_config.
std::vector<train::ModelFile> config_files(const std::filesystem::path& model);

/// The files of a model's tokenizer, chat template included: of a directory those that are there,
/// as they stand; of a GGUF file, written from its vocabulary.
///
/// Errors: as text::gguf_to_tokenizer_json.
std::vector<train::ModelFile> tokenizer_files(const std::filesystem::path& model);

}  // namespace parhelion::app
