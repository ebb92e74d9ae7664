#include "app/train_run.h"

#include "app/executor.h"
#include "app/train_generation.h"
#include "app/train_model.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/file.h"
#include "base/in_context.h"
#include "train/data/load.h"
#include "train/loop/job_digest.h"
#include "train/loop/job_report.h"
#include "train/loop/matmul_peak.h"
#include "train/loop/reporter.h"
#include "train/loop/trainer.h"

#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace parhelion::app {
namespace {

std::int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::unique_ptr<exec::Executor> executor_of(const train::Job& job) {
  return make_executor({.device = std::string(choice_name(job.run.device)),
                        .threads = static_cast<int>(job.run.threads),
                        .numerics = std::string(choice_name(job.run.numerics))});
}

/// Where documents are named in a job, and what they are for people.
struct DataSource {
  std::string_view what;
  std::string_view key;
  const std::vector<std::filesystem::path>& files;
};

/// Reads documents; what the cache lacks goes to `scratch`, if that is not empty.
std::shared_ptr<const train::Documents> load(const DataSource& source, const train::Job& job,
                                             const train::TokenRules& rules,
                                             const TrainTerminal& terminal,
                                             const std::filesystem::path& scratch = {}) {
  const auto show = [&](const train::DataProgress& at) {
    terminal.show_progress(
        fmt::format("reading data: {:.1f} of {:.1f} MB, {}", static_cast<double>(at.bytes) / 1e6,
                    static_cast<double>(at.total_bytes) / 1e6, counted(at.documents, "document")));
  };
  const train::DataRequest request{.files = source.files,
                                   .format = job.data.format,
                                   .on_error = job.data.on_error,
                                   .cache = job.data.cache,
                                   .scratch = scratch,
                                   .threads = static_cast<int>(job.run.threads),
                                   .progress = show};
  auto documents = in_context(source.key, [&] {
    return std::make_shared<const train::Documents>(train::load_documents(request, rules));
  });
  terminal.print_line(
      fmt::format("{}: {}", source.what, train::describe(documents->report(), documents->files())));
  return documents;
}

/// What both a run and its plan need.
struct Prepared {
  TrainedModel model;
  train::TokenRules rules;
  train::TrainingPrograms programs;
  std::unique_ptr<exec::Executor> executor;
  std::shared_ptr<const train::Documents> documents;
  double matmul_peak = 0;
};

Prepared prepare(const train::Job& job, const TrainTerminal& terminal,
                 const std::filesystem::path& scratch = {}) {
  TrainedModel trained = open_trained_model(job);
  train::TokenRules rules = token_rules(trained);
  train::TrainingPrograms programs = train::build_programs(trained.model, job);
  Prepared result{.model = std::move(trained),
                  .rules = std::move(rules),
                  .programs = std::move(programs),
                  .executor = executor_of(job),
                  .documents = {}};
  result.documents =
      load({"data", "data.files", job.data.files}, job, result.rules, terminal, scratch);
  result.matmul_peak = train::measure_matmul_peak(*result.executor, kind(job.model.dtype));
  return result;
}

train::Reporter make_reporter(const train::Job& job, const Prepared& prepared,
                              const train::RunPaths& paths, const TrainTerminal& terminal) {
  const train::JobCost cost = train::cost_job(prepared.programs, job);
  return train::Reporter(
      {.paths = paths,
       .log = job.log,
       .job = train::write_job(job),
       .flops_per_token = cost.step_flops / static_cast<double>(cost.step_tokens),
       .matmul_peak = prepared.matmul_peak,
       .memory_bytes = peak_memory_bytes,
       .print_line = terminal.print_line,
       .show_progress = terminal.show_progress,
       .width = terminal.width});
}

void write_job_file(const train::Job& job, const train::RunPaths& paths) {
  AtomicFile file(paths.job);
  file.write(write_json(train::write_job(job)) + "\n");
  file.commit();
}

/// What a run goes on from; a warning stands in its log too.
std::optional<train::TrainCheckpoint> open_last_checkpoint(const train::RunPaths& paths,
                                                           train::Reporter& reporter) {
  const auto warn = [&](const std::string& warning) {
    train::log_warning(warning);
    reporter.write_to_log("warning: " + warning);
  };
  return train::open_newest_checkpoint(paths.checkpoints, train::Verify::contents, warn);
}

/// Runs the steps; an error that ends them stands in the run's log too.
bool train_logging_errors(train::Trainer& trainer,
                          const std::function<bool(std::int64_t)>& should_stop,
                          train::Reporter& reporter) try {
  return trainer.run([&] { return should_stop(trainer.step() + 1); }).complete;
} catch (const Error& error) {
  reporter.write_to_log(fmt::format("error: {}", error.what()));
  throw;
}

}  // namespace

std::string training_plan(const train::Job& job, const TrainTerminal& terminal) {
  const TemporaryDirectory scratch(std::filesystem::temp_directory_path() /
                                   fmt::format("parhelion-dry-run-{}", ::getpid()));
  const Prepared prepared = prepare(job, terminal, scratch.path());
  const train::BatchStream stream(prepared.documents, job.data,
                                  static_cast<std::uint64_t>(job.run.seed));
  const std::int64_t steps = train::resolve_steps(job.schedule, stream.total_steps());
  return train::describe_plan(prepared.programs, job, steps, prepared.matmul_peak);
}

bool run_training(const train::Job& job, const TrainTerminal& terminal,
                  const std::function<bool(std::int64_t step)>& should_stop) {
  const train::RunDirectory directory(job.run.directory);
  const Prepared prepared = prepare(job, terminal);
  train::Reporter reporter = make_reporter(job, prepared, directory.paths(), terminal);
  train::TrainerParts parts{
      .job = job,
      .job_digest = train::job_digest(job, prepared.programs.step, prepared.documents->key(),
                                      prepared.model.base_digest),
      .programs = prepared.programs,
      .executor = *prepared.executor,
      .documents = prepared.documents,
      .on_event = [&](const train::Event& event) { reporter.handle(event); },
      .store = {.directory = directory.paths().checkpoints,
                .keep = job.checkpoint.keep,
                .model_files = model_files(prepared.model)}};
  if (job.evaluation && !job.evaluation->files.empty())
    parts.held_out = load({"held-out data", "evaluation.files", job.evaluation->files}, job,
                          prepared.rules, terminal);
  train::Trainer trainer(parts);
  std::unique_ptr<TrainGeneration> generation;
  if (job.evaluation && !(job.evaluation->prompts.empty() && job.evaluation->chats.empty())) {
    generation = std::make_unique<TrainGeneration>(prepared.model.model, job, prepared.rules,
                                                   *prepared.executor);
    trainer.set_generation([&] { return generation->run(); });
  }
  const auto checkpoint = open_last_checkpoint(directory.paths(), reporter);
  // A checkpoint of adapters does not have the weights under them.
  if (!checkpoint || job.lora) {
    upload_first_weights(prepared.model, job,
                         train::saved_parameter_buffers(prepared.programs.step),
                         *prepared.executor);
  }
  if (checkpoint) trainer.resume(*checkpoint);
  write_job_file(job, directory.paths());
  return train_logging_errors(trainer, should_stop, reporter);
}

}  // namespace parhelion::app
