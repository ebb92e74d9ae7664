#include "app/train_run.h"

#include "app/train_generation.h"
#include "app/train_model.h"
#include "base/file.h"
#include "exec/cpu/cpu_executor.h"
#include "train/data/load.h"
#include "train/loop/job_digest.h"
#include "train/loop/job_report.h"
#include "train/loop/matmul_peak.h"
#include "train/loop/reporter.h"
#include "train/loop/trainer.h"

#include <sys/resource.h>
#include <thread>

namespace parhelion::app {
namespace {

std::int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::unique_ptr<exec::Executor> make_executor(const train::Job& job) {
  const int all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto threads = static_cast<int>(job.run.threads);
  return exec::make_cpu_executor({.threads = threads == 0 ? all : threads});
}

std::shared_ptr<const train::Documents> load(std::string_view what,
                                             const std::vector<std::filesystem::path>& files,
                                             const train::Job& job, const train::TokenRules& rules,
                                             const TrainTerminal& terminal) {
  const auto show = [&](const train::DataProgress& at) {
    terminal.show_progress(fmt::format("reading data: {:.1f} of {:.1f} MB, {} documents",
                                       static_cast<double>(at.bytes) / 1e6,
                                       static_cast<double>(at.total_bytes) / 1e6, at.documents));
  };
  auto documents = std::make_shared<const train::Documents>(
      train::load_documents({.files = files,
                             .format = job.data.format,
                             .on_error = job.data.on_error,
                             .cache = job.data.cache,
                             .threads = static_cast<int>(job.run.threads),
                             .progress = show},
                            rules));
  terminal.print_line(
      fmt::format("{}: {}", what, train::describe(documents->report(), documents->files())));
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

Prepared prepare(const train::Job& job, const TrainTerminal& terminal) {
  TrainedModel trained = open_trained_model(job);
  train::TokenRules rules = token_rules(trained);
  train::TrainingPrograms programs = train::build_programs(trained.model, job);
  Prepared result{.model = std::move(trained),
                  .rules = std::move(rules),
                  .programs = std::move(programs),
                  .executor = make_executor(job),
                  .documents = {}};
  result.documents = load("data", job.data.files, job, result.rules, terminal);
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

}  // namespace

void print_training_plan(const train::Job& job, const TrainTerminal& terminal) {
  const Prepared prepared = prepare(job, terminal);
  const train::BatchStream stream(prepared.documents, job.data,
                                  static_cast<std::uint64_t>(job.run.seed));
  const std::int64_t steps = train::resolve_steps(job.schedule, stream.total_steps());
  terminal.print_line(train::describe_plan(prepared.programs, job, *prepared.documents, steps,
                                           prepared.matmul_peak));
}

bool run_training(const train::Job& job, const TrainTerminal& terminal,
                  const std::function<bool()>& should_stop) {
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
    parts.held_out = load("held-out data", job.evaluation->files, job, prepared.rules, terminal);
  train::Trainer trainer(parts);
  std::unique_ptr<TrainGeneration> generation;
  if (job.evaluation && !(job.evaluation->prompts.empty() && job.evaluation->chats.empty())) {
    generation = std::make_unique<TrainGeneration>(prepared.model.model, job, prepared.rules,
                                                   *prepared.executor);
    trainer.set_generation([&] { return generation->run(); });
  }
  const auto checkpoint =
      train::open_newest_checkpoint(directory.paths().checkpoints, train::Verify::contents);
  // A checkpoint of adapters does not have the weights under them.
  if (!checkpoint || job.lora) {
    upload_first_weights(prepared.model, job,
                         train::saved_parameter_buffers(prepared.programs.step),
                         *prepared.executor);
  }
  if (checkpoint) trainer.resume(*checkpoint);
  write_job_file(job, directory.paths());
  return trainer.run(should_stop).complete;
}

}  // namespace parhelion::app
