#include "app/cli/command.h"
#include "app/cli/pending_stop.h"
#include "app/embedding_choice.h"
#include "app/golden.h"
#include "app/model_files.h"
#include "app/prepare_source.h"
#include "base/error.h"
#include "contract/core.h"
#include "contract/keys.h"
#include "prepare/prepare_core.h"
#include "prepare/process_memory.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>

namespace parhelion::app {
namespace {

struct PrepareCommand {
  RunOptions run;
  std::filesystem::path output;
  std::vector<std::filesystem::path> keys;
  std::int64_t rows = 16;
  std::int64_t step_tokens = 512;
  std::int64_t context_tokens = 0;
  std::int64_t most_instances = 24;
  EmbeddingChoice embeddings;
  bool keeps_adapter = false;
  bool plans_only = false;
  bool has_golden = true;
  bool keeps_work = false;
  std::string version;
};

constexpr std::int64_t kMostUsualContext = 8192;

/// What a phase took, and what came of it behind that.
void print_phase(const prepare::PhaseReport& report) {
  print(fmt::format("{:<8} {:>8.2f} s {:>8} MiB\n", report.name, report.seconds,
                    report.memory_bytes >> 20));
  for (std::size_t at = 0; at < report.said.size();) {
    const std::size_t end = report.said.find('\n', at);
    print(fmt::format("  {}\n", report.said.substr(at, end - at)));
    at = end == std::string::npos ? report.said.size() : end + 1;
  }
}

contract::Target target_of(const ExecutorChoice& choice) {
  if (choice.device == "cpu") return {};  // whatever is asked for, a processor gives exact bits
  contract::Target target{.device = contract::DeviceKind::cuda};
  const exec::Numerics numerics = exec::numerics_named(choice.numerics);
  if (numerics == exec::Numerics::invariant) target.numerics = contract::Numerics::invariant;
  if (numerics == exec::Numerics::fast) target.numerics = contract::Numerics::fast;
  target.architecture = exec::cuda_device().architecture;
  return target;
}

prepare::ServingShape shape_of(const PrepareCommand& command, const std::filesystem::path& path,
                               const model::OpenedModel& opened) {
  const std::int64_t usual = std::min(opened.model.max_positions, kMostUsualContext);
  ensure(command.context_tokens <= opened.model.max_positions, ErrorKind::invalid,
         "--context: is {}, expected at most the model's {} positions", command.context_tokens,
         opened.model.max_positions);
  const auto catalogue = prepare::serving_catalogue(command.rows, command.step_tokens);
  prepare::ServingShape shape{
      .kind = kind_of(command.run, opened),
      .context_tokens = command.context_tokens == 0 ? usual : command.context_tokens,
      .catalogue = catalogue,
      .slots = command.rows,
      .edited_catalogue = catalogue};
  offer_embeddings(path, command.embeddings, command.step_tokens, shape);
  return shape;
}

prepare::PrepareOptions options_of(const PrepareCommand& command, const std::filesystem::path& path,
                                   const model::OpenedModel& opened, const PendingStop& stop) {
  prepare::PrepareOptions options;
  options.core.shape = shape_of(command, path, opened);
  options.most_instances = command.most_instances + std::ssize(options.core.shape.embed_catalogue);
  options.core.adapter =
      command.keeps_adapter ? prepare::AdapterUse::keep : prepare::AdapterUse::merge;
  options.core.frontend = read_frontend(path);
  options.on_phase = print_phase;
  options.is_wanted = [&stop] { return !stop.has_come(); };
  if (command.plans_only) return options;
  options.core.target = target_of(command.run.executor);
  options.core.provenance = read_provenance(path, command.run.adapter);
  options.core.provenance.tool = command.version;
  options.executor = [choice = command.run.executor] { return make_executor(choice); };
  options.keeps_work = command.keeps_work;
  if (command.has_golden)
    options.golden = [choice = command.run.executor](
                         const contract::Contract& contract,
                         std::span<const contract::WeightView> weights) {
      return run_golden_probes(contract, weights, choice);
    };
  for (const std::filesystem::path& key : command.keys)
    options.file.keys.push_back(contract::read_secret_key(key));
  return options;
}

/// Before minutes of work.
void check_output(const PrepareCommand& command) {
  namespace fs = std::filesystem;
  const fs::path& output = command.output;
  ensure(!output.empty(), ErrorKind::invalid,
         "prepare: has no --output, expected one, or --plan-only");
  ensure(!fs::is_directory(output), ErrorKind::invalid,
         "--output: {} is a directory, expected a file to write", output.string());
  ensure(!fs::exists(output) || contract::is_core(output), ErrorKind::invalid,
         "--output: {} is no core, expected a new file or one to replace", output.string());
}

void run_prepare(const PrepareCommand& command) {
  const PendingStop stop;
  const auto begin = std::chrono::steady_clock::now();
  if (!command.plans_only) check_output(command);
  const std::filesystem::path path = resolve_model(command.run.model, train::Verify::contents);
  const model::OpenedModel opened = open_with_adapter(path, command.run.adapter);
  const prepare::PrepareOptions options = options_of(command, path, opened, stop);
  const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - begin;
  print_phase({.name = "read",
               .seconds = reading.count(),
               .memory_bytes = prepare::own_memory_bytes(),
               .said = fmt::format("{}: {} with {} layers and {} ids, {} tensors\n", path.string(),
                                   opened.model.architecture, opened.model.layers,
                                   opened.model.vocabulary, opened.checkpoint.tensors().size())});
  if (command.plans_only) {
    prepare::plan_core(opened, options);
  } else {
    prepare::prepare_core(opened, options, command.output);
  }
}

void add_shape_options(CLI::App& app, PrepareCommand& command) {
  app.add_option("--max-rows", command.rows, "sequences that are generated at a time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--step-tokens", command.step_tokens, "most tokens of one step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--context", command.context_tokens,
                 "the longest sequence in tokens; 0 = the model's, at most 8192")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--max-instances", command.most_instances,
                 "refuse a catalogue of more shapes than this, those of embeddings apart, and tell "
                 "what each costs")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
}

}  // namespace

void add_prepare(CLI::App& app) {
  auto command = std::make_shared<PrepareCommand>();
  command->version = app.version();
  command->run.executor.numerics = "invariant";
  CLI::App* prepare = app.add_subcommand(
      "prepare", "Write a model as a core: one file with all that a server needs of it");
  add_run_options(*prepare, command->run);
  prepare->add_option("-o,--output", command->output, "core file to write");
  add_shape_options(*prepare, *command);
  prepare->add_flag("--keep-adapter", command->keeps_adapter,
                    "keep the adapter beside the weights; it is merged into them otherwise");
  add_embedding_options(*prepare, command->embeddings);
  prepare->add_option("--key", command->keys, "secret key that signs: a .key file");
  prepare->add_flag("!--no-golden", command->has_golden,
                    "run no probes; a server of the core has none to run before it is ready");
  prepare->add_flag("--keep-work", command->keeps_work,
                    "keep the converted weights beside the output, for the next preparation");
  prepare->add_flag("--plan-only", command->plans_only,
                    "show shapes and memory; use no device and write nothing");
  prepare->callback([command] { run_prepare(*command); });
}

}  // namespace parhelion::app
