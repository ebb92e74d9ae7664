#include "train/loop/programs.h"

#include "base/counted.h"
#include "base/error.h"
#include "ir/autodiff/differentiate.h"
#include "ir/passes/extract_phases.h"
#include "ir/passes/lower.h"
#include "ir/verify.h"
#include "model/programs.h"
#include "train/config/byte_size.h"
#include "train/config/name_pattern.h"
#include "train/loop/job_memory.h"
#include "train/optim/update_program.h"

#include <utility>

namespace parhelion::train {
namespace {

ir::Capacities capacities_of(const Bucket& bucket) {
  ir::Capacities result;
  result[ir::Symbol::tokens] = bucket.tokens;
  result[ir::Symbol::documents] = bucket.documents;
  return result;
}

double mebibytes_of(std::int64_t bytes) { return static_cast<double>(bytes) / 0x1p20; }

/// What a budget leaves for activations. Errors: invalid if it is none.
ir::ActivationBudget activation_budget(const ModelSettings& model, std::int64_t lasting_bytes) {
  const std::optional<std::int64_t> bytes = parse_byte_size(model.memory_budget.value_or(""));
  ensure(bytes.has_value(), ErrorKind::invalid, "model.recompute is auto without a memory_budget");
  return {*bytes - lasting_bytes};
}

ir::RecomputePolicy policy_of(const ModelSettings& model, std::int64_t lasting_bytes) {
  switch (model.recompute.value_or(Recompute::none)) {
    case Recompute::none:
      return ir::Recompute::none;
    case Recompute::selective:
      return ir::Recompute::selective;
    case Recompute::layer:
      return ir::Recompute::layer;
    case Recompute::automatic:
      break;
  }
  return activation_budget(model, lasting_bytes);
}

/// The step at one capacity, with all its phases.
ir::Program lower_step(const TrainingPrograms& programs, const Job& job, const Bucket& bucket) {
  const std::int64_t lasting_bytes = lasting_memory(programs.step).total();
  const ir::RecomputePolicy policy = policy_of(job.model, lasting_bytes);
  try {
    return ir::lower(programs.step, capacities_of(bucket), policy);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::exhausted) throw;
    fail(ErrorKind::exhausted,
         "model.memory_budget is {}, of which all but activations takes {:.1f} MiB; a pass of {}: "
         "{}; it fits if the budget is larger by that, or data.microbatch_tokens lower",
         job.model.memory_budget.value_or(""), mebibytes_of(lasting_bytes),
         counted(bucket.tokens, "token"), error.what());
  }
}

/// Those that outlive a step and may change.
std::vector<ir::Buffer> lasting_buffers(const ir::Program& program, ir::Role role) {
  std::vector<ir::Buffer> result;
  for (const ir::Buffer& buffer : program.buffers) {
    const bool lasts = buffer.lifetime == ir::Lifetime::process && buffer.trainable;
    if (buffer.role == role && lasts) result.push_back(buffer);
  }
  return result;
}

}  // namespace

model::Model model_of_job(model::Model model, const Job& job) {
  if (!job.lora) return model;
  const NamePattern targets(job.lora->targets, "lora.targets");
  return model::with_lora(
      std::move(model),
      {.rank = job.lora->rank, .alpha = job.lora->alpha, .dropout = job.lora->dropout},
      [&](std::string_view module) { return targets.matches(module); });
}

TrainingPrograms build_programs(const model::Model& model, const Job& job) {
  ensure(model.lora.has_value() == job.lora.has_value(), ErrorKind::bug,
         "programs: the model's adapters are not those of the job");
  ensure(job.data.sequence_tokens <= model.max_positions, ErrorKind::invalid,
         "data.sequence_tokens is {}, but the model's max_position_embeddings is {}",
         job.data.sequence_tokens, model.max_positions);
  const ir::Kind dtype = kind(job.model.dtype);
  model::TrainProgram train =
      model::build_train(model, dtype, model::Dropout::on, job.data.sequence_tokens);
  TrainingPrograms result{.step = std::move(train.program),
                          .score = model::build_train(model, dtype).program};
  ir::differentiate(result.step, train.total_loss);
  append_update(result.step, train.total_loss, job.optimizer, dtype);
  return result;
}

StepInstance instantiate_step(const TrainingPrograms& programs, const Job& job,
                              const Bucket& bucket) {
  const ir::Program whole = lower_step(programs, job, bucket);
  StepInstance result{
      .microbatch = ir::extract_phases(
          whole, {ir::Phase::forward, ir::Phase::input_grad, ir::Phase::weight_grad}, "microbatch"),
      .update = ir::extract_phases(whole, {ir::Phase::update}, "update")};
  ir::verify(result.microbatch);
  ir::verify(result.update);
  return result;
}

ir::Program instantiate_score(const TrainingPrograms& programs, const Bucket& bucket) {
  return ir::lower(programs.score, capacities_of(bucket));
}

std::vector<ir::Buffer> saved_parameter_buffers(const ir::Program& step) {
  return lasting_buffers(step, ir::Role::parameter);
}

std::vector<ir::Buffer> saved_optimizer_buffers(const ir::Program& step) {
  return lasting_buffers(step, ir::Role::state);
}

}  // namespace parhelion::train
