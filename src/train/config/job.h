#pragma once

#include "base/json.h"
#include "train/config/data_settings.h"
#include "train/config/evaluation_settings.h"
#include "train/config/model_settings.h"
#include "train/config/optimizer_settings.h"
#include "train/config/output_settings.h"
#include "train/config/run_settings.h"
#include "train/config/schedule_settings.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace parhelion::train {

/// All settings of a training run.
struct Job {
  RunSettings run;
  ModelSettings model;
  std::optional<LoraSettings> lora;
  DataSettings data;
  std::optional<EvaluationSettings> evaluation;
  OptimizerSettings optimizer;
  ScheduleSettings schedule;
  CheckpointSettings checkpoint;
  LogSettings log;
  bool operator==(const Job&) const = default;
};

constexpr auto settings(const Job*) {
  return std::tuple(
      setting("run", &Job::run, "where the run lives and what it computes on"),
      setting("model", &Job::model, "what is trained"),
      setting("lora", &Job::lora,
              "if given, even empty: low-rank adapters are trained instead of the model's weights"),
      setting("data", &Job::data, "documents, and how they become microbatches"),
      setting("evaluation", &Job::evaluation, "what is measured and shown while training goes on"),
      setting("optimizer", &Job::optimizer, "how gradients change parameters"),
      setting("schedule", &Job::schedule,
              "how long training goes, and its learning rate over time"),
      setting("checkpoint", &Job::checkpoint, "when the run is saved"),
      setting("log", &Job::log, "what is written of each step"));
}

/// Reads and checks a job. Relative paths are taken from `directory`, and settings whose default
/// follows from others get their value. `where` begins each line of an error.
///
/// Errors: invalid, with a line for each unknown or missing key and value of a wrong type; if there
///         is none, with a line for each value outside of its range or at odds with another.
Job read_job(const Json& json, const std::filesystem::path& directory, std::string_view where);

/// Reads a job file, `job.toml` or the `job.json` of a run, with `overrides` such as
/// `optimizer.lr=1e-4` in place of what it says. Relative paths, overrides' too, are taken from the
/// file's directory.
///
/// Errors: invalid, as of read_job, parse_toml and override_setting, or if the file is missing;
///         corrupt, as of parse_json.
Job open_job(const std::filesystem::path& file, std::span<const std::string> overrides);

/// The effective job as an object from which `read_job` makes an equal one, with absolute paths.
Json write_job(const Job& job);

/// The reference of a job file: each key with type, default and meaning.
std::string describe_job();

}  // namespace parhelion::train
