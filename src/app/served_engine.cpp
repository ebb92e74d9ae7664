#include "app/served_engine.h"

#include "app/engine_start.h"
#include "app/model_files.h"
#include "app/tokenizer_files.h"
#include "app/weights.h"
#include "base/hash.h"
#include "base/log.h"
#include "prepare/make_contract.h"
#include "serve/golden.h"

#include <algorithm>
#include <ctime>
#include <future>
#include <span>

namespace parhelion::app {
namespace {

constexpr std::int64_t kUsualContext = 8192;
constexpr std::int64_t kUsualRowTokens = 2048;
constexpr std::int64_t kUsualRows = 16;
constexpr std::int64_t kUsualStepTokens = 512;

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

/// Tells models and element types apart, as far as their descriptions do.
std::string weights_id_of(const model::OpenedModel& opened, ir::Kind kind) {
  std::string text = opened.model.architecture + "|" + std::string(ir::name(kind)) + "|";
  for (const state::TensorView& tensor : opened.checkpoint.tensors())
    text += tensor.name + std::to_string(tensor.bytes.size()) + ",";
  return text;
}

std::string fingerprint_of(const EngineStart& start) {
  const std::string text = start.executor->describe() + "|" + start.weights_id;
  return "fp_" + hex(hash128(std::as_bytes(std::span(text.data(), text.size())))).substr(0, 16);
}

TextParts text_of_model(const std::filesystem::path& model) {
  TextParts parts{.tokenizer = load_tokenizer(model)};
  parts.template_source = load_chat_template(model);
  if (!parts.template_source) return parts;
  parts.chat_template.emplace(*parts.template_source);
  parts.reply_format = text::detect_reply_format(*parts.template_source);
  return parts;
}

/// What the API knows of a contract, before its texts are read.
ServedModel describe_model(const ServingChoice& choice, const EngineStart& start, TextParts text) {
  ServedModel served{.id = choice.name.empty() ? name_of(choice.model) : choice.name,
                     .created = std::time(nullptr),
                     .tokenizer = std::move(text.tokenizer)};
  served.chat_template = std::move(text.chat_template);
  served.reply_format = std::move(text.reply_format);
  served.fingerprint = fingerprint_of(start);
  Json::Object facts = {{"device", start.executor->describe()}, {"numerics", start.numerics}};
  facts.insert(facts.end(), start.facts.begin(), start.facts.end());
  served.facts = std::move(facts);
  served.most_sequences = std::min(serve::kMostSequences, choice.queue);
  return served;
}

void take_policy(const contract::Contract& contract, ServedModel& served) {
  const std::int64_t most_output = contract.limits.output_tokens;
  served.vocabulary = contract.vocabulary;
  served.context_tokens = contract.cache.context_tokens;
  served.sampling = contract.sampling;
  if (most_output > 0 && served.sampling.max_tokens == 0) served.sampling.max_tokens = most_output;
  served.stop_ids = contract.stop_ids;
  if (contract.limits.request_sequences > 0)
    served.most_sequences = std::min(served.most_sequences, contract.limits.request_sequences);
  if (!contract.embed.ops.empty()) served.embedding = contract.embedding;
  served.embedding_width = contract::embedding_width(contract);
}

/// On the engine's thread, which has helpers of its own.
void warm_up(serve::EngineThread& engine, const ServingChoice& choice, std::string_view device) {
  const double usual = device == "cuda" ? 60 : 0.1;
  const std::chrono::duration<double> limit(choice.warm_seconds < 0 ? usual : choice.warm_seconds);
  std::int64_t left = 0;
  engine.between_steps([&](serve::Engine& each) { left = each.warm_up(limit); });
  if (left > 0)
    log(LogLevel::info, "{} instances were not warmed within {} s", left, limit.count());
}

/// Nobody is served by what does not say what it said when it was prepared.
void check_probes(serve::EngineThread& engine) {
  engine.between_steps([](serve::Engine& each) {
    const std::int64_t left = std::ssize(each.contract().golden.probes) - serve::check_golden(each);
    if (left > 0) log(LogLevel::info, "{} golden probes do not fit the lowered limits", left);
  });
}

}  // namespace

void StartTimes::end_part(std::string name) {
  const auto now = std::chrono::steady_clock::now();
  parts_.emplace_back(std::move(name), std::chrono::duration<double>(now - last_).count());
  last_ = now;
}

std::int64_t rows_of(const contract::Contract& contract) {
  if (contract.limits.rows > 0) return contract.limits.rows;
  std::int64_t rows = 0;
  for (const ir::Capacities& instance : contract.catalogue)
    rows = std::max(rows, std::min({instance[ir::Symbol::rows], instance[ir::Symbol::logit_rows],
                                    instance[ir::Symbol::tokens]}));
  return rows;
}

std::int64_t cache_tokens_of(const ServingChoice& choice, const contract::Contract& contract,
                             std::int64_t rows) {
  const std::int64_t context = contract.cache.context_tokens;
  const std::int64_t usual = std::max(context, rows * std::min(context, kUsualRowTokens));
  const std::int64_t tokens = choice.cache_tokens == 0 ? usual : choice.cache_tokens;
  const std::int64_t page = contract.cache.page_tokens;
  return (tokens + page - 1) / page * page;
}

EngineStart start_of_model(const ServingChoice& choice, StartTimes& times) {
  const auto opened =
      std::make_shared<const model::OpenedModel>(open_with_adapter(choice.model, choice.adapter));
  times.end_part("open");
  const ir::Kind kind = served_kind(choice.dtype, *opened);
  const std::int64_t rows = choice.rows == 0 ? kUsualRows : choice.rows;
  const std::int64_t step_tokens = choice.step_tokens == 0 ? kUsualStepTokens : choice.step_tokens;
  const std::int64_t usual_context = std::min(opened->model.max_positions, kUsualContext);
  EngineStart start;
  prepare::ServingShape shape{
      .kind = kind,
      .context_tokens = choice.context_tokens == 0 ? usual_context : choice.context_tokens,
      .catalogue = prepare::serving_catalogue(rows, step_tokens),
      .slots = rows};
  shape.edited_catalogue = shape.catalogue;
  offer_embeddings(choice.model, choice.embeddings, step_tokens, shape);
  start.contract = prepare::make_contract(opened->model, shape);
  start.executor = make_executor(choice.executor);
  start.device = choice.executor.device;
  start.numerics = choice.executor.numerics;
  start.weights_id = weights_id_of(*opened, kind);
  start.facts = {{"dtype", std::string(ir::name(kind))},
                 {"instances", std::ssize(shape.catalogue)},
                 {"edited_instances", std::ssize(shape.edited_catalogue)},
                 {"embed_instances", std::ssize(shape.embed_catalogue)},
                 {"digest", nullptr},
                 {"signature", "none"}};
  start.read_text = [path = choice.model] { return text_of_model(path); };
  start.upload = [opened, kind](exec::Executor& executor) {
    upload_weights(*opened, kind, executor);
  };
  times.end_part("device");
  return start;
}

ServedEngine start_engine(const ServingChoice& choice,
                          std::function<void(std::string_view)> on_failure) {
  StartTimes times;
  EngineStart start = contract::is_core(choice.model) ? start_of_core(choice, times)
                                                      : start_of_model(choice, times);
  auto text = std::async(std::launch::async, start.read_text);
  const contract::Contract& contract = start.contract;
  const std::int64_t cache = cache_tokens_of(choice, contract, rows_of(contract));
  const serve::EngineSettings settings{
      .pages = cache / contract.cache.page_tokens + 1,
      .queue_sequences = contract.limits.queued_requests == 0
                             ? choice.queue
                             : std::min(choice.queue, contract.limits.queued_requests),
      .step_tokens = contract.limits.step_tokens,
      .reserve = choice.grows ? serve::Reserve::grow : serve::Reserve::worst_case,
      .shares_prefixes = choice.shares_prefixes,
      .overlaps = start.device == "cuda",
      .step_target = std::chrono::duration<double>(choice.step_seconds)};
  auto engine =
      std::make_unique<serve::Engine>(std::move(start.contract), *start.executor, settings);
  start.after_plan(engine->stepper());
  times.end_part("plan");
  start.upload(*start.executor);
  times.end_part("weights");
  ServedModel model = describe_model(choice, start, text.get());
  take_policy(engine->contract(), model);
  model.context_tokens = std::min(model.context_tokens, cache);  // a sequence must fit the cache
  times.end_part("text");
  ServedEngine made{.executor = std::move(start.executor),
                    .engine = {},
                    .model = std::move(model),
                    .cache_tokens = cache};
  made.engine = std::make_unique<serve::EngineThread>(std::move(engine), std::move(on_failure));
  warm_up(*made.engine, choice, start.device);
  times.end_part("warm");
  check_probes(*made.engine);
  times.end_part("golden");
  made.start_parts = times.parts();
  return made;
}

}  // namespace parhelion::app
