#include "app/chat_prompt.h"
#include "app/cli/command.h"
#include "app/cli/trust_options.h"
#include "app/engine_start.h"
#include "app/model_files.h"
#include "app/tokenizer_files.h"
#include "app/weights.h"
#include "base/error.h"
#include "base/json.h"
#include "base/with_advice.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"
#include "text/detokenizer.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>

namespace parhelion::app {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct GenerateOptions {
  RunOptions run;
  TrustOptions trust;
  ServingChoice core;  // of a core, how it is started
  std::string prompt;
  std::filesystem::path prompt_file;
  std::string chat;
  std::int64_t max_tokens = 128;
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::uint64_t seed = 0;
  bool json = false;
};

/// What a process does before its first step, and how long each part took.
class LoadTimes {
 public:
  explicit LoadTimes(Clock::time_point begin) : begin_(begin), last_(begin) {}

  void end_part(std::string name) {
    const auto now = Clock::now();
    parts_.emplace_back(std::move(name), Seconds(now - last_).count());
    last_ = now;
  }
  Seconds total() const { return last_ - begin_; }
  const Json::Object& parts() const { return parts_; }

 private:
  Clock::time_point begin_, last_;
  Json::Object parts_;
};

/// An engine with its weights.
struct LoadedEngine {
  std::unique_ptr<exec::Executor> executor;
  std::unique_ptr<serve::Engine> engine;
};

/// Instances from one token a step to a long chunk, none longer than the prompt needs.
std::vector<ir::Capacities> generation_catalogue(std::int64_t prompt_tokens) {
  std::vector<ir::Capacities> catalogue = {prepare::one_row(1, 1)};
  for (const std::int64_t tokens : {8, 32, 128, 512}) {
    catalogue.push_back(prepare::one_row(tokens, 1));
    if (tokens >= prompt_tokens) break;
  }
  return catalogue;
}

LoadedEngine load_engine(const GenerateOptions& options, std::int64_t prompt_tokens,
                         LoadTimes& times) {
  const model::OpenedModel opened = open_with_adapter(options.run.model, options.run.adapter);
  times.end_part("open");
  const ir::Kind kind = kind_of(options.run, opened);
  const std::int64_t context =
      std::min(opened.model.max_positions, prompt_tokens + options.max_tokens);
  LoadedEngine loaded{.executor = make_executor(options.run.executor), .engine = {}};
  times.end_part("device");
  loaded.engine = with_advice(
      fmt::format("a context of {} tokens asks for less where --max-tokens is lower", context),
      [&] {
        prepare::ServingShape shape{.kind = kind,
                                    .context_tokens = context,
                                    .catalogue = generation_catalogue(prompt_tokens)};
        if (opened.model.sampling.repetition_penalty != 1) shape.edited_catalogue = shape.catalogue;
        return std::make_unique<serve::Engine>(prepare::make_contract(opened.model, shape),
                                               *loaded.executor, serve::EngineSettings{});
      });
  times.end_part("plan");
  upload_weights(opened, kind, *loaded.executor);
  times.end_part("weights");
  return loaded;
}

/// What a prompt is made with, and an engine for one of so many tokens.
struct GenerationSource {
  text::Tokenizer tokenizer;
  std::optional<std::string> chat_template = {};
  std::function<LoadedEngine(std::int64_t prompt_tokens)> load = {};
};

GenerationSource model_source(const GenerateOptions& options, LoadTimes& times) {
  GenerationSource source{.tokenizer = load_tokenizer(options.run.model)};
  if (!options.chat.empty()) source.chat_template = load_chat_template(options.run.model);
  source.load = [&](std::int64_t tokens) { return load_engine(options, tokens, times); };
  times.end_part("tokenizer");
  return source;
}

LoadedEngine load_core_engine(EngineStart& start, LoadTimes& times) {
  LoadedEngine loaded{.executor = std::move(start.executor), .engine = {}};
  loaded.engine = std::make_unique<serve::Engine>(std::move(start.contract), *loaded.executor,
                                                  serve::EngineSettings{});
  start.after_plan(loaded.engine->stepper());
  times.end_part("plan");
  start.upload(*loaded.executor);
  times.end_part("weights");
  return loaded;
}

GenerationSource core_source(const GenerateOptions& options, LoadTimes& times) {
  StartTimes parts;
  const auto start = std::make_shared<EngineStart>(start_of_core(options.core, parts));
  times.end_part("open");
  TextParts text = start->read_text();
  GenerationSource source{.tokenizer = std::move(text.tokenizer)};
  source.chat_template = std::move(text.template_source);
  source.load = [start, &times](std::int64_t) { return load_core_engine(*start, times); };
  times.end_part("tokenizer");
  return source;
}

/// The message as the model's chat template frames it.
text::PromptText framed_chat(const GenerateOptions& options, const GenerationSource& source) {
  ensure(source.chat_template.has_value(), ErrorKind::invalid,
         "{}: has no chat template, expected one for --chat", options.run.model.string());
  return chat_prompt(*source.chat_template, source.tokenizer, options.chat);
}

text::PromptText prompt_text(const GenerateOptions& options, const GenerationSource& source) {
  if (!options.chat.empty()) return framed_chat(options, source);
  return {options.prompt_file.empty() ? options.prompt : read_text(options.prompt_file)};
}

std::vector<std::int32_t> prompt_ids(const GenerateOptions& options,
                                     const GenerationSource& source) {
  const text::Frame frame = source.tokenizer.adds_bos() ? text::Frame::bos : text::Frame::none;
  const text::PromptText prompt = prompt_text(options, source);
  return source.tokenizer.encode(prompt.text, {.frame = frame, .plain_at = prompt.plain_at});
}

double rate(std::size_t tokens, Seconds time) {
  return time.count() > 0 ? static_cast<double>(tokens) / time.count() : 0;
}

Json::Array as_array(std::span<const std::int32_t> ids) {
  Json::Array array;
  for (const std::int32_t id : ids) array.emplace_back(std::int64_t{id});
  return array;
}

Json completion_as_json(const serve::Request& request, const serve::Completion& completion,
                        const std::string& text, const LoadTimes& load) {
  Json::Array log_probabilities;
  for (const float value : completion.log_probabilities)
    log_probabilities.emplace_back(static_cast<double>(value));
  const std::size_t decoded = completion.ids.empty() ? 0 : completion.ids.size() - 1;
  return Json::Object{
      {"prompt_ids", as_array(request.prompt)},
      {"ids", as_array(completion.ids)},
      {"text", text},
      {"logprobs", std::move(log_probabilities)},
      {"finish_reason", name(completion.reason)},
      {"timing",
       Json::Object{{"load_seconds", load.total().count()},
                    {"load_parts", load.parts()},
                    {"prefill_seconds", completion.prefill.count()},
                    {"prefill_tokens_per_second", rate(request.prompt.size(), completion.prefill)},
                    {"decode_seconds", completion.decode.count()},
                    {"decode_tokens_per_second", rate(decoded, completion.decode)}}}};
}

std::optional<double> as_number(std::optional<std::int64_t> value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

void run_generate(const GenerateOptions& options) {
  LoadTimes times(Clock::now());
  const GenerationSource source = contract::is_core(options.run.model)
                                      ? core_source(options, times)
                                      : model_source(options, times);
  const serve::Request request{.prompt = prompt_ids(options, source),
                               .max_tokens = options.max_tokens,
                               .temperature = options.temperature,
                               .top_k = as_number(options.top_k),
                               .top_p = options.top_p,
                               .min_p = options.min_p,
                               .seed = options.seed};
  const LoadedEngine loaded = source.load(std::ssize(request.prompt));
  text::Detokenizer detokenizer(source.tokenizer, text::SpecialTokens::skip,
                                text::UnknownIds::replace);
  std::string text;
  const auto take = [&](const std::string& piece) {
    if (!options.json) print(piece);
    text += piece;
  };
  const serve::Completion completion = serve::complete(
      *loaded.engine, request, [&](std::int32_t id) { take(detokenizer.push(id)); });
  take(detokenizer.flush());
  print(options.json ? write_json(completion_as_json(request, completion, text, times)) + "\n"
                     : "\n");
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt, or answer in a chat");
  add_core_options(*command, options->run, options->trust);
  CLI::Option_group* source = command->add_option_group("prompt", "what to continue; one of these");
  source->add_option("--prompt", options->prompt, "text to continue");
  source->add_option("--prompt-file", options->prompt_file,
                     "file with the text to continue; - is standard input");
  source->add_option("--chat", options->chat,
                     "message to answer, through the model's chat template");
  source->require_option(1);
  command->add_option("--max-tokens", options->max_tokens, "most tokens to generate")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--temperature", options->temperature,
                      "0 is greedy; the model's own if absent");
  command->add_option("--top-k", options->top_k, "keep the K likeliest tokens; 0 = all");
  command->add_option("--top-p", options->top_p,
                      "keep the likeliest tokens whose probability reaches P");
  command->add_option("--min-p", options->min_p,
                      "keep tokens at least P times as likely as the likeliest");
  command->add_option("--seed", options->seed, "of the draws: equal seeds, equal text")
      ->capture_default_str();
  command->add_flag(
      "--json", options->json,
      "write one JSON object: prompt_ids, ids, text, logprobs, finish_reason, timing");
  command->callback([options, command] {
    options->run.model = resolve_model(options->run.model);
    take_core_options(*command, options->run, options->trust, options->core);
    run_generate(*options);
  });
}

}  // namespace parhelion::app
