#pragma once

#include "ir/program.h"
#include "model/model.h"
#include "train/config/job.h"
#include "train/data/microbatch.h"

namespace parhelion::train {

/// What a job runs, before it is bound to capacities.
struct TrainingPrograms {
  /// All phases: forward, gradients and update (`append_update`).
  ir::Program step;
  /// Forward alone, for data that are not learnt from; the same bits.
  ir::Program score;
};

/// The model as a job trains it: with the adapters that its `[lora]` asks for.
///
/// Errors: as model::with_lora.
model::Model model_of_job(model::Model model, const Job& job);

/// Builds the programs of a job for a model that `model_of_job` gave.
///
/// Inputs: besides those of model::build_train and append_update, what dropout draws with
/// Errors: bug if the model has other adapters than the job asks for; invalid if the job's
/// sequences
///         are longer than the model's context; as model::build_train, differentiate and
///         append_update.
TrainingPrograms build_programs(const model::Model& model, const Job& job);

/// The parts of a step at one capacity.
struct StepInstance {
  ir::Program microbatch;  ///< forward and gradients, once a microbatch
  ir::Program update;      ///< once a step
};
/// With what the job says computed again.
///
/// Errors: exhausted, naming the setting, if the memory budget is too small for the bucket.
StepInstance instantiate_step(const TrainingPrograms& programs, const Job& job,
                              const Bucket& bucket);
ir::Program instantiate_score(const TrainingPrograms& programs, const Bucket& bucket);

/// Buffers whose content a checkpoint keeps: trainable parameters and, of the optimizer, state that
/// outlives a step.
std::vector<ir::Buffer> saved_parameter_buffers(const ir::Program& step);
std::vector<ir::Buffer> saved_optimizer_buffers(const ir::Program& step);

}  // namespace parhelion::train
