#pragma once

#include "exec/executor.h"
#include "model/open.h"
#include "train/checkpoint/write_checkpoint.h"
#include "train/config/job.h"
#include "train/data/tokenise.h"

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace parhelion::app {

/// What a job trains, and how it gets its first weights.
struct TrainedModel {
  model::Model model;                        ///< with the adapters that the job trains
  std::optional<model::OpenedModel> source;  ///< none: the weights begin at random
  std::filesystem::path config_path;         ///< a model, or a config.json alone
  std::filesystem::path tokenizer_path;
  std::string base_digest = {};  ///< of the weights under adapters
};

/// Opens the model, or reads the config, that a job names.
///
/// Errors: invalid if that is an adapter; as model::open_model, the recipes and
///         train::model_of_job.
TrainedModel open_trained_model(const train::Job& job);

/// What the job's data need to know of text. Errors: as load_tokenizer and load_chat_template.
train::TokenRules token_rules(const TrainedModel& trained);

/// The files that make a checkpoint of this model a model, or an adapter for one. Errors: as
/// config_files, tokenizer_files.
std::vector<train::ModelFile> model_files(const TrainedModel& trained);

/// Gives the executor the first weights of a job, of which `parameters` are trained.
///
/// Errors: as model::load_parameters.
void upload_first_weights(const TrainedModel& trained, const train::Job& job,
                          std::span<const ir::Buffer> parameters, exec::Executor& executor);

}  // namespace parhelion::app
