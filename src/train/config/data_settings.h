#pragma once

#include "base/setting.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <tuple>
#include <vector>

namespace parhelion::train {

/// How a data file is read.
enum class DataFormat : std::uint8_t {
  automatic,  ///< by the file's name: `.jsonl` is JSONL, all else is text
  text,       ///< UTF-8 text; a file is one document
  jsonl,      ///< one JSON object a line: text, prompt and completion, or messages
};
constexpr auto choices(const DataFormat*) {
  return std::array{choice("auto", DataFormat::automatic), choice("text", DataFormat::text),
                    choice("jsonl", DataFormat::jsonl)};
}

/// What a document that cannot be read does to the run.
enum class OnError : std::uint8_t {
  stop,
  skip,  ///< it is counted and left out
};
constexpr auto choices(const OnError*) {
  return std::array{choice("stop", OnError::stop), choice("skip", OnError::skip)};
}

/// How documents fill a microbatch.
enum class Packing : std::uint8_t {
  concatenate,  ///< one stream of tokens, cut every `sequence_tokens`
  fit,          ///< whole documents, as many as fit
  none,         ///< microbatch_tokens / sequence_tokens documents
};
constexpr auto choices(const Packing*) {
  return std::array{choice("concatenate", Packing::concatenate), choice("fit", Packing::fit),
                    choice("none", Packing::none)};
}

/// What happens to a document of more than `sequence_tokens`, unless packing concatenates.
enum class LongDocuments : std::uint8_t { split, truncate, error };
constexpr auto choices(const LongDocuments*) {
  return std::array{choice("split", LongDocuments::split),
                    choice("truncate", LongDocuments::truncate),
                    choice("error", LongDocuments::error)};
}

/// Table `[data]`: documents, and how they become microbatches.
struct DataSettings {
  std::vector<std::filesystem::path> files;
  std::optional<std::vector<double>> weights;
  DataFormat format = DataFormat::automatic;
  OnError on_error = OnError::stop;
  std::int64_t sequence_tokens = 0;
  std::int64_t microbatch_tokens = 0;  ///< never 0 in a checked job
  std::int64_t microbatches = 1;
  std::vector<std::int64_t> buckets;  ///< never empty in a checked job
  Packing packing = Packing::concatenate;
  LongDocuments long_documents = LongDocuments::split;
  bool shuffle = true;
  std::int64_t epochs = 1;
  std::filesystem::path cache;  ///< never empty in a checked job
  std::int64_t prefetch = 2;
  bool operator==(const DataSettings&) const = default;
};

constexpr auto settings(const DataSettings*) {
  return std::tuple(
      required_setting("files", &DataSettings::files,
                       "documents to train on: text files, and JSONL files whose rows have `text`, "
                       "`prompt` and `completion` (loss on the completion), or `messages` (loss on "
                       "the assistant's turns)"),
      setting("weights", &DataSettings::weights,
              "how many times an epoch passes over the documents of each of `files`, such as "
              "[1, 0.25]; what a fraction leaves out comes in the next epochs. Absent, each once"),
      setting("format", &DataSettings::format,
              "how files are read; `auto` takes names that end in `.jsonl` as JSONL and all others "
              "as text, one document a file"),
      setting("on_error", &DataSettings::on_error,
              "what a row that cannot be read does: `stop` ends the run and names file and line, "
              "`skip` counts it and goes on"),
      required_setting("sequence_tokens", &DataSettings::sequence_tokens,
                       "the most tokens that attend to each other, at least 2"),
      setting("microbatch_tokens", &DataSettings::microbatch_tokens,
              "tokens computed at a time, at least `sequence_tokens`; 0 takes `sequence_tokens`. "
              "Memory for activations grows with it"),
      setting("microbatches", &DataSettings::microbatches,
              "microbatches whose gradients are added up before a step updates the parameters"),
      setting("buckets", &DataSettings::buckets,
              "capacities in tokens for which programs are planned, ascending, the last being "
              "`microbatch_tokens`: a short microbatch runs at the smallest that holds it. Empty "
              "plans `microbatch_tokens` alone"),
      setting("packing", &DataSettings::packing,
              "how documents fill a microbatch: `concatenate` joins them and cuts every "
              "`sequence_tokens`, `fit` takes as many whole ones as fit, `none` takes "
              "`microbatch_tokens` / `sequence_tokens` of them in order. Documents never attend to "
              "each other"),
      setting("long_documents", &DataSettings::long_documents,
              "what becomes of a document of more than `sequence_tokens` where packing is `fit` or "
              "`none`: it is split, truncated, or an error"),
      setting("shuffle", &DataSettings::shuffle,
              "whether each epoch visits documents in a random order of its own, given by "
              "`run.seed`"),
      setting("epochs", &DataSettings::epochs,
              "passes over the documents; 0 repeats them for as long as `schedule.steps` needs"),
      setting("cache", &DataSettings::cache,
              "directory for tokens of files already read; empty takes `cache` in the run's "
              "directory"),
      setting("prefetch", &DataSettings::prefetch,
              "steps whose microbatches are made ready ahead; 0 makes them when they are needed"));
}

}  // namespace parhelion::train
