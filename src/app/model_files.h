#pragma once

#include "train/checkpoint/open_checkpoint.h"
#include "train/checkpoint/write_checkpoint.h"

#include <filesystem>
#include <vector>

namespace parhelion::app {

/// What a MODEL argument stands for: of a run directory its newest checkpoint that is whole, else
/// the path itself. A training checkpoint is verified.
///
/// Errors: invalid if a run has no checkpoint yet; as train::open_train_checkpoint.
std::filesystem::path resolve_model(const std::filesystem::path& model,
                                    train::Verify verify = train::Verify::sizes);

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
