#pragma once

#include "app/prepare_source.h"
#include "app/weights.h"
#include "exec/cpu/cpu_executor.h"
#include "model/open.h"
#include "prepare/prepare_core.h"
#include "serve/complete.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace parhelion::app {

/// Signs the corpus. Whoever reads this can, too: the key is for tests alone.
inline constexpr contract::SecretKey kCorpusKey = {'c', 'o', 'r', 'p', 'u', 's'};

inline contract::Trust corpus_trust() {
  return {.keys = {{.key = contract::public_key(kCorpusKey), .label = "corpus"}}};
}

/// How the cores of tests are prepared: as small as they can be.
inline prepare::PrepareOptions corpus_options(const std::filesystem::path& tokenizer,
                                              ir::Kind kind) {
  prepare::PrepareOptions options;
  const auto catalogue = prepare::serving_catalogue(2, 32);
  options.core.shape = {.kind = kind,
                        .context_tokens = 128,
                        .catalogue = catalogue,
                        .page_tokens = 16,
                        .slots = 2,
                        .edited_catalogue = catalogue};
  options.core.frontend = read_frontend(tokenizer);
  options.core.provenance = {.source = "random weights, made for tests", .tool = "corpus_writer"};
  options.executor = [] {
    return exec::make_cpu_executor({.threads = 1, .level = exec::CpuLevel::portable});
  };
  options.file.keys = {kCorpusKey};
  return options;
}

/// Writes the core of a model, with the tokenizer of another if it has none.
inline void write_model_core(const std::filesystem::path& core, const std::filesystem::path& model,
                             const std::filesystem::path& tokenizer, ir::Kind kind) {
  prepare::prepare_core(model::open_model(model), corpus_options(tokenizer, kind), core);
}

/// What a core says to fixed prompts: a line of ids for a greedy and one for a seeded completion.
inline std::string core_tokens(const contract::Core& core) {
  const auto executor = exec::make_cpu_executor({.threads = 1});
  serve::Engine engine(core.contract, *executor, serve::EngineSettings{});
  upload_weights(core.weights, *executor);
  std::string text;
  for (const double temperature : {0.0, 1.0}) {
    const serve::Completion completion =
        serve::complete(engine,
                        {.prompt = {5, 9, 12, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49},
                         .max_tokens = 24,
                         .temperature = temperature,
                         .seed = 7,
                         .ignore_stop_ids = true},
                        [](std::int32_t) {});
    text += fmt::format("{}\n", fmt::join(completion.ids, " "));
  }
  return text;
}

}  // namespace parhelion::app
