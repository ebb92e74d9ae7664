#include "app/served_engine.h"

#include "app/model_files.h"
#include "app/tokenizer_files.h"
#include "app/weights.h"
#include "base/hash.h"
#include "prepare/make_contract.h"

#include <algorithm>
#include <ctime>
#include <span>

namespace parhelion::app {
namespace {

constexpr std::int64_t kUsualContext = 8192;
constexpr std::int64_t kUsualRowTokens = 2048;

ir::Kind served_kind(const std::string& dtype, const model::OpenedModel& opened) {
  if (!dtype.empty()) return dtype == "f32" ? ir::Kind::f32 : ir::Kind::bf16;
  const auto is_f32 = [](const state::TensorView& tensor) { return tensor.kind == ir::Kind::f32; };
  return std::ranges::all_of(opened.checkpoint.tensors(), is_f32) ? ir::Kind::f32 : ir::Kind::bf16;
}

/// The last part of the path without the ending of a file.
std::string name_of(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path);
  return std::filesystem::is_directory(whole) ? whole.filename().string() : whole.stem().string();
}

/// Tells models, element types and devices apart, as far as their descriptions do.
std::string fingerprint_of(const contract::Contract& contract, const model::OpenedModel& opened,
                           const exec::Executor& executor, ir::Kind kind) {
  std::string text = contract.model + "|" + executor.describe() + "|" +
                     std::to_string(static_cast<int>(kind)) + "|";
  for (const state::TensorView& tensor : opened.checkpoint.tensors())
    text += tensor.name + std::to_string(tensor.bytes.size()) + ",";
  return "fp_" + hex(hash128(std::as_bytes(std::span(text.data(), text.size())))).substr(0, 16);
}

ServedModel describe_model(const ServingChoice& choice, const contract::Contract& contract) {
  ServedModel served{.id = choice.name.empty() ? name_of(choice.model) : choice.name,
                     .created = std::time(nullptr),
                     .tokenizer = load_tokenizer(choice.model)};
  if (const auto source = load_chat_template(choice.model)) {
    served.chat_template.emplace(*source);
    served.reply_format = text::detect_reply_format(*source);
  }
  served.vocabulary = contract.vocabulary;
  served.context_tokens = contract.cache.context_tokens;
  served.sampling = contract.sampling;
  served.stop_ids = contract.stop_ids;
  served.most_sequences = std::min(serve::kMostSequences, choice.queue);
  return served;
}

/// What /v1/core tells of how a model is run that no core file was made of.
Json run_facts(const ServingChoice& choice, const contract::Contract& contract, ir::Kind kind,
               const exec::Executor& executor) {
  return Json::Object{{"device", executor.describe()},
                      {"numerics", choice.executor.numerics},
                      {"dtype", kind == ir::Kind::f32 ? "f32" : "bf16"},
                      {"instances", std::ssize(contract.catalogue)},
                      {"edited_instances", std::ssize(contract.edited_catalogue)},
                      {"digest", nullptr},
                      {"signature", "none"}};
}

std::int64_t pages_for(std::int64_t tokens) {
  return (tokens + prepare::kPageTokens - 1) / prepare::kPageTokens;
}

}  // namespace

ServedEngine start_engine(const ServingChoice& choice,
                          std::function<void(std::string_view)> on_failure) {
  const model::OpenedModel opened = open_with_adapter(choice.model, choice.adapter);
  const ir::Kind kind = served_kind(choice.dtype, opened);
  const std::int64_t context = choice.context_tokens == 0
                                   ? std::min(opened.model.max_positions, kUsualContext)
                                   : choice.context_tokens;
  const std::int64_t usual_cache =
      std::max(context, choice.rows * std::min(context, kUsualRowTokens));
  const std::int64_t cache = choice.cache_tokens == 0 ? usual_cache : choice.cache_tokens;
  contract::Contract contract = prepare::make_contract(
      opened.model,
      {.kind = kind,
       .context_tokens = context,
       .catalogue = prepare::serving_catalogue(choice.rows, choice.step_tokens),
       .slots = choice.rows,
       .edited_catalogue = prepare::serving_catalogue(choice.rows, choice.step_tokens)});
  auto executor = make_executor(choice.executor);
  ServedModel served = describe_model(choice, contract);
  ServedEngine made{.executor = std::move(executor),
                    .engine = {},
                    .model = std::move(served),
                    .cache_tokens = pages_for(cache) * prepare::kPageTokens};
  made.model.fingerprint = fingerprint_of(contract, opened, *made.executor, kind);
  made.model.facts = run_facts(choice, contract, kind, *made.executor);
  const serve::EngineSettings settings{
      .pages = pages_for(cache) + 1,
      .queue_sequences = choice.queue,
      .reserve = choice.grows ? serve::Reserve::grow : serve::Reserve::worst_case,
      .shares_prefixes = choice.shares_prefixes,
      .overlaps = choice.executor.device == "cuda",
      .step_target = std::chrono::duration<double>(choice.step_seconds)};
  auto engine = std::make_unique<serve::Engine>(std::move(contract), *made.executor, settings);
  upload_weights(opened, kind, *made.executor);
  made.engine = std::make_unique<serve::EngineThread>(std::move(engine), std::move(on_failure));
  return made;
}

}  // namespace parhelion::app
