#pragma once

#include "app/executor.h"
#include "app/model_files.h"
#include "app/weights.h"
#include "contract/core_writer.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/passes/fold_views.h"
#include "ir/passes/fuse.h"
#include "ir/verify.h"
#include "model/open.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"
#include "state/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace parhelion::app {

inline constexpr ir::Kind kCorpusKind = ir::Kind::bf16;
/// Signs the corpus. Whoever reads this can, too: the key is for tests alone.
inline constexpr contract::SecretKey kCorpusKey = {'c', 'o', 'r', 'p', 'u', 's'};

inline contract::Trust corpus_trust() {
  return {.keys = {{.key = contract::public_key(kCorpusKey), .label = "corpus"}}};
}

/// The tokenizer's files of a model as a core keeps them.
inline contract::Frontend frontend_of(const std::filesystem::path& model) {
  contract::Frontend frontend;
  for (const train::ModelFile& file : tokenizer_files(model)) {
    if (file.name == "tokenizer.json") {
      frontend.tokenizer_format = file.name;
      frontend.tokenizer = file.text;
    } else {
      frontend.assets.push_back({.name = file.name, .bytes = file.text});
    }
  }
  return frontend;
}

/// The contract that the core of a model has, programs fused.
inline contract::Contract core_contract(const model::OpenedModel& opened,
                                        const std::filesystem::path& model) {
  contract::Contract contract = prepare::make_contract(
      opened.model,
      {.kind = kCorpusKind,
       .context_tokens = 96,
       .catalogue = {prepare::one_row(1, 1), prepare::one_row(8, 1), prepare::one_row(8, 8)}});
  for (ir::Program* program : {&contract.extend, &contract.edited}) {
    ir::fuse(*program);
    ir::fold_views(*program);
    ir::verify(*program);
  }
  contract.provenance = {.source = "random weights, made for tests", .tool = "corpus_writer"};
  contract.frontend = frontend_of(model);
  contract::plan_instances(contract);
  return contract;
}

/// Writes the core of a model.
inline void write_model_core(const std::filesystem::path& core,
                             const std::filesystem::path& model) {
  const model::OpenedModel opened = model::open_model(model);
  contract::CoreWriter writer(core, {.keys = {kCorpusKey}});
  model::load_parameters(opened, [&](const state::TensorView& tensor) {
    ir::Shape shape(tensor.shape.begin(), tensor.shape.end());
    const ir::TensorType type(kCorpusKind, std::move(shape));
    std::vector<std::byte> bytes(static_cast<std::size_t>(ir::byte_count(type)));
    state::convert(tensor.kind, tensor.bytes, kCorpusKind, bytes);
    writer.weight(tensor.name, type);
    writer.append(bytes);
  });
  writer.finish(core_contract(opened, model));
}

/// What a core says to fixed prompts: a line of ids for a greedy and one for a seeded completion.
inline std::string core_tokens(const contract::Core& core) {
  const auto executor = exec::make_cpu_executor({.threads = 1});
  serve::Engine engine(core.contract, *executor, serve::EngineSettings{});
  upload_weights(core, *executor);
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
