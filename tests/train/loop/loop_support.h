#pragma once

#include "exec/cpu/cpu_executor.h"
#include "model/checkpoint_test_support.h"
#include "state/convert.h"
#include "train/data/data_support.h"
#include "train/loop/initial_weights.h"
#include "train/loop/trainer.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::train {

/// A job on the golden model `llama_tiny`, without files.
inline Job tiny_job() {
  Job job;
  job.data = data_settings(32, 64);
  job.data.epochs = 0;
  job.optimizer.lr = 1e-3;
  job.schedule.steps = 6;
  return job;
}

/// The model, an executor, and what a trainer needs, for one run of a job.
class TinyRun {
 public:
  TinyRun(Job of, std::shared_ptr<const Documents> documents, std::filesystem::path store,
          int threads = 1, std::string_view golden = "llama_tiny")
      : job(std::move(of)),
        opened(model::open_model(model::golden_path(golden))),
        model(model_of_job(opened.model, job)),
        programs(build_programs(model, job)),
        executor(exec::make_cpu_executor({.threads = threads})),
        trainer({.job = job,
                 .job_digest = "digest",
                 .programs = programs,
                 .executor = *executor,
                 .documents = documents,
                 .held_out = documents,
                 .on_event = [this](const Event& event) { events.push_back(event); },
                 .store = {.directory = std::move(store), .keep = 0}}) {
    load();
  }

  void load() {
    const ir::Kind dtype = kind(job.model.dtype);
    model::load_parameters(opened, [&](const state::TensorView& tensor) {
      executor->upload(tensor.name, [&](std::span<std::byte> out) {
        state::convert(tensor.kind, tensor.bytes, dtype, out);
      });
    });
    if (model.lora)
      initialise_adapters(*model.lora, saved_parameter_buffers(programs.step), 0, *executor);
  }

  RunEnded run() {
    return trainer.run([] { return false; });
  }

  /// Bytes of every buffer that a checkpoint keeps.
  std::map<std::string, std::vector<std::byte>> content() const {
    std::map<std::string, std::vector<std::byte>> result;
    for (const auto& list :
         {saved_parameter_buffers(programs.step), saved_optimizer_buffers(programs.step)}) {
      for (const ir::Buffer& buffer : list) {
        const auto bytes = executor->download(buffer.name);
        result[buffer.name].assign(bytes.begin(), bytes.end());
      }
    }
    return result;
  }

  template <class T>
  std::vector<T> events_of() const {
    std::vector<T> result;
    for (const Event& event : events) {
      if (const auto* found = std::get_if<T>(&event)) result.push_back(*found);
    }
    return result;
  }
  std::vector<double> losses() const {
    std::vector<double> result;
    for (const StepFinished& step : events_of<StepFinished>()) result.push_back(step.loss);
    return result;
  }

  Job job;
  model::OpenedModel opened;
  model::Model model;
  TrainingPrograms programs;
  std::unique_ptr<exec::Executor> executor;
  std::vector<Event> events;
  Trainer trainer;
};

}  // namespace parhelion::train
