#include "app/cli/command.h"
#include "app/cli/trust_options.h"
#include "app/engine_start.h"
#include "app/model_files.h"
#include "app/tokenizer_files.h"
#include "app/train_score.h"
#include "app/weights.h"
#include "base/error.h"
#include "base/json.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <functional>
#include <memory>

namespace parhelion::app {
namespace {

constexpr std::int64_t kScoreChunk = 256;  // rows of logits that exist at one time

struct ScoreOptions {
  RunOptions run;
  TrustOptions trust;
  ServingChoice core;  // of a core, how it is started
  std::filesystem::path file;
  std::filesystem::path ids_file;
  std::string through = "train";
  bool bos = false;
  bool json = false;
};

/// Ids per step of the serving programs: 1 for decode, N for chunks=N, 0 for as many as one step
/// takes.
std::int64_t chunk_of(std::string_view through) {
  if (through == "prefill") return 0;
  if (through == "decode") return 1;
  constexpr std::string_view kPrefix = "chunks=";
  std::int64_t chunk = 0;
  const char* end = through.data() + through.size();
  const bool prefixed = through.starts_with(kPrefix);
  const auto [rest, code] =
      prefixed ? std::from_chars(through.data() + kPrefix.size(), end, chunk)
               : std::from_chars_result{through.data(), std::errc::invalid_argument};
  ensure(code == std::errc() && rest == end && chunk >= 1 && chunk <= 65536, ErrorKind::invalid,
         "--through: is '{}', expected train, prefill, decode or chunks=N with N from 1 to 65536",
         through);
  return chunk;
}

std::vector<std::int32_t> ids_to_score(const ScoreOptions& options,
                                       const std::function<text::Tokenizer()>& tokenizer) {
  if (!options.ids_file.empty())
    return parse_ids(read_text(options.ids_file), options.ids_file.string());
  return tokenizer().encode(read_text(options.file),
                            {.frame = options.bos ? text::Frame::bos : text::Frame::none});
}

/// Ids and the log-probabilities of all but the first.
struct Scored {
  std::vector<std::int32_t> ids;
  std::vector<float> log_probabilities;
};

Scored score_core(const ScoreOptions& options) {
  ensure(options.through == "prefill", ErrorKind::invalid,
         "--through: is '{}', expected prefill for a core, which has serving programs alone and "
         "their own steps",
         options.through);
  StartTimes times;
  EngineStart start = start_of_core(options.core, times);
  Scored scored;
  scored.ids = ids_to_score(options, [&] { return start.read_text().tokenizer; });
  serve::Engine engine(std::move(start.contract), *start.executor, {});
  start.upload(*start.executor);
  scored.log_probabilities = serve::score(engine, scored.ids);
  return scored;
}

std::vector<float> score(const ScoreOptions& options, std::span<const std::int32_t> ids) {
  const model::OpenedModel opened = open_with_adapter(options.run.model, options.run.adapter);
  const ir::Kind kind = kind_of(options.run, opened);
  const auto executor = make_executor(options.run.executor);
  if (options.through == "train") return score_through_training(opened, ids, kind, *executor);
  const std::int64_t chunk = chunk_of(options.through);
  const auto count = static_cast<std::int64_t>(ids.size());
  ensure(count >= 2, ErrorKind::invalid, "score: the text has {} tokens, expected at least 2",
         count);
  const std::int64_t tokens = std::min(chunk == 0 ? kScoreChunk : chunk, count);
  serve::Engine engine(
      prepare::make_contract(opened.model,
                             {.kind = kind,
                              .context_tokens = std::min(count, opened.model.max_positions),
                              .catalogue = {prepare::one_row(tokens, tokens)}}),
      *executor, {});
  upload_weights(opened, kind, *executor);
  return serve::score(engine, ids);
}

Scored score_model(const ScoreOptions& options) {
  if (options.through != "train") chunk_of(options.through);
  Scored scored;
  scored.ids = ids_to_score(options, [&] { return load_tokenizer(options.run.model); });
  scored.log_probabilities = score(options, scored.ids);
  return scored;
}

double perplexity(std::span<const float> log_probabilities) {
  double sum = 0;
  for (const float value : log_probabilities) sum += static_cast<double>(value);
  return std::exp(-sum / static_cast<double>(log_probabilities.size()));
}

Json score_as_json(std::span<const std::int32_t> ids, std::span<const float> log_probabilities) {
  Json::Array id_array;
  Json::Array value_array = {nullptr};
  for (const std::int32_t id : ids) id_array.emplace_back(std::int64_t{id});
  for (const float value : log_probabilities) value_array.emplace_back(static_cast<double>(value));
  return Json::Object{{"ids", std::move(id_array)},
                      {"logprobs", std::move(value_array)},
                      {"perplexity", perplexity(log_probabilities)}};
}

void run_score(const ScoreOptions& options) {
  const auto [ids, log_probabilities] =
      contract::is_core(options.run.model) ? score_core(options) : score_model(options);
  if (options.json) {
    print(write_json(score_as_json(ids, log_probabilities)) + "\n");
    return;
  }
  std::string table = fmt::format("{:>8} {:>14}\n{:>8} {:>14}\n", "id", "log p", ids[0], "-");
  for (std::size_t i = 0; i < log_probabilities.size(); ++i) {
    table += fmt::format("{:>8} {:>14.6f}\n", ids[i + 1], log_probabilities[i]);
  }
  print(table + fmt::format("perplexity {:.6f} over {} tokens\n", perplexity(log_probabilities),
                            log_probabilities.size()));
}

}  // namespace

void add_score(CLI::App& app) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* command =
      app.add_subcommand("score", "Log-probability of every token of a text, and its perplexity");
  add_core_options(*command, options->run, options->trust);
  CLI::Option* file =
      command->add_option("FILE", options->file, "text to score; standard input if absent or -");
  command->add_option("--ids-file", options->ids_file, "score these ids, separated by white space")
      ->excludes(file);
  command
      ->add_option("--through", options->through,
                   "train, or the serving programs: prefill, chunks=N, decode")
      ->capture_default_str();
  command->add_flag("--bos", options->bos, "put the model's BOS first");
  command->add_flag("--json", options->json,
                    "write one JSON object: ids, logprobs (null first), perplexity");
  command->callback([options, command] {
    options->run.model = resolve_model(options->run.model);
    take_core_options(*command, options->run, options->trust, options->core);
    run_score(*options);
  });
}

}  // namespace parhelion::app
