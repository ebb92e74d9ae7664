#pragma once

#include "exec/executor.h"
#include "train/loop/programs.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace parhelion::train {

/// What the update of a step reads.
struct UpdateInputs {
  double lr = 0;
  std::int64_t update = 1;  ///< counts updates from 1
  std::uint64_t rounding_seed = 0;
};

/// What a step gave.
struct StepResult {
  float loss = 0;    ///< weighted mean over all tokens that count
  float norm = 0;    ///< of the mean gradient, before clipping
  float weight = 0;  ///< tokens that count
  bool applied = false;
};

/// The loss of data that are not learnt from.
struct ScoreResult {
  double loss_sum = 0;
  double weight = 0;
};

/// The plans of a job on one executor, one for each bucket.
class StepPlans {
 public:
  /// Plans everything; upload the parameters afterwards.
  StepPlans(const TrainingPrograms& programs, const Job& job, exec::Executor& executor);

  /// Adds a microbatch's loss and gradients to the step's. What adapters drop is a function of
  /// `dropout_seed`.
  void accumulate(const Microbatch& microbatch, std::uint64_t dropout_seed);
  /// Ends the step.
  StepResult update(const UpdateInputs& inputs);
  /// Losses of a microbatch, as the plan's output `loss` has them: valid until the next call.
  std::span<const float> score(const Microbatch& microbatch, ScoreResult& sum);

  const std::vector<std::unique_ptr<exec::Plan>>& microbatch_plans() const { return microbatch_; }
  const exec::Plan& update_plan() const { return *update_; }

 private:
  std::size_t bucket_index(const Microbatch& microbatch) const;

  const OptimizerSettings optimizer_;
  const bool has_dropout_;
  std::vector<Bucket> buckets_;
  std::vector<std::unique_ptr<exec::Plan>> microbatch_;
  std::vector<std::unique_ptr<exec::Plan>> score_;
  std::unique_ptr<exec::Plan> update_;
};

}  // namespace parhelion::train
