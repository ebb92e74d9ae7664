#pragma once

#include "train/checkpoint/open_checkpoint.h"
#include "train/checkpoint/snapshot.h"
#include "train/data/batch_stream.h"
#include "train/loop/events.h"
#include "train/loop/step_plans.h"
#include "train/lr/schedule.h"

#include <memory>
#include <optional>
#include <string>

namespace parhelion::train {

/// What a trainer works with. References outlive it.
struct TrainerParts {
  const Job& job;
  std::string job_digest;
  const TrainingPrograms& programs;
  exec::Executor& executor;
  std::shared_ptr<const Documents> documents;
  std::shared_ptr<const Documents> held_out = {};  ///< none: no data are scored
  EventSink on_event;
  CheckpointStore store;
};

/// Runs a job's steps.
///
/// Threads: one thread uses a trainer; data and checkpoints have threads of their own.
class Trainer {
 public:
  /// Plans everything. Then give the executor its weights, or `resume`.
  ///
  /// Errors: as resolve_steps, build_schedule and BatchStream.
  explicit Trainer(TrainerParts parts);

  /// Texts that the model generates at each evaluation, from the weights as they are then.
  void set_generation(std::function<std::vector<Generated>()> generate) {
    generate_ = std::move(generate);
  }

  /// Puts trainable parameters, optimizer, data position and counters where the checkpoint has
  /// them.
  ///
  /// Errors: invalid if it is of another job, naming what differs, or has more steps than the job;
  ///         as restore_buffers.
  void resume(const TrainCheckpoint& checkpoint);

  /// Runs steps until all are done or `should_stop` says so between two of them, then saves.
  ///
  /// Errors: corrupt if loss or norm is not finite and the job stops there, naming step, documents
  ///         and the last checkpoint; exhausted if the end cannot be saved, naming what is lost;
  ///         invalid if the data end early; those of the data.
  RunEnded run(const std::function<bool()>& should_stop);

  std::int64_t total_steps() const { return total_steps_; }
  /// Steps that are done.
  std::int64_t step() const { return step_; }
  const StepPlans& plans() const { return plans_; }
  /// Log-probabilities of a document's ids after the first, through the forward program.
  std::vector<float> score(std::span<const std::int32_t> ids);

 private:
  void run_step(const Pack& pack, Seconds data_stall);
  void check_result(const Pack& pack, const StepResult& result);
  void evaluate();
  ScoreResult score_held_out();
  Snapshot snapshot() const;
  void save();
  void report_saves(const std::vector<SaveReport>& reports);
  void save_end();
  bool is_due(std::int64_t every) const;
  CheckpointFacts facts() const;

  TrainerParts parts_;
  std::function<std::vector<Generated>()> generate_;
  StepPlans plans_;
  BatchStream stream_;
  std::int64_t total_steps_ = 0;
  Schedule schedule_;
  CheckpointWriter writer_;
  DataPosition position_;
  std::int64_t step_ = 0;     // steps done
  std::int64_t updates_ = 0;  // of them, those which moved the parameters
  std::int64_t skipped_ = 0;  // of them, those whose loss or norm was not finite
  std::int64_t tokens_seen_ = 0;
  std::int64_t begun_save_ = -1;  // the step whose save began last
  std::int64_t saved_step_ = 0;   // the step of the last checkpoint
  std::string last_checkpoint_ = "none";
  std::string save_problem_;  // why the save after it failed, if one did
};

}  // namespace parhelion::train
