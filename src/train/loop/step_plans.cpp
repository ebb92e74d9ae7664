#include "train/loop/step_plans.h"

#include "base/error.h"
#include "base/with_advice.h"
#include "train/data/batch_stream.h"

#include <algorithm>
#include <cmath>

namespace parhelion::train {
namespace {

void write_inputs(exec::Plan& plan, const Microbatch& microbatch) {
  std::ranges::copy(microbatch.token_ids, exec::host_span<std::int32_t>(plan, "token_ids").begin());
  std::ranges::copy(microbatch.positions, exec::host_span<std::int32_t>(plan, "positions").begin());
  std::ranges::copy(microbatch.labels, exec::host_span<std::int32_t>(plan, "labels").begin());
  std::ranges::copy(microbatch.document_indptr,
                    exec::host_span<std::int32_t>(plan, "document_indptr").begin());
  std::ranges::copy(microbatch.loss_weight, exec::host_span<float>(plan, "loss_weight").begin());
}

template <class T>
T output_number(exec::Plan& plan, std::string_view name) {
  return exec::host_span<T>(plan, name).front();
}

std::string_view other_ways_to_less_memory(const ModelSettings& model) {
  switch (model.recompute.value_or(Recompute::none)) {
    case Recompute::none:
      return ", model.recompute is \"selective\" or \"layer\", or model.memory_budget is given";
    case Recompute::selective:
      return ", model.recompute is \"layer\", or model.memory_budget is given in its place";
    case Recompute::layer:
      return "";
    case Recompute::automatic:
      break;
  }
  return " or model.memory_budget is";
}

/// Plans a pass over a bucket; where memory is missing, says which settings of the job ask for
/// less.
std::unique_ptr<exec::Plan> plan_pass(exec::Executor& executor, const ir::Program& instance,
                                      const Job& job, const Bucket& bucket) {
  return with_advice(
      fmt::format("a pass of {} tokens asks for less where data.microbatch_tokens is lower{}",
                  bucket.tokens, other_ways_to_less_memory(job.model)),
      [&] { return executor.plan(instance, exec::Weights::trained); });
}

}  // namespace

StepPlans::StepPlans(const TrainingPrograms& programs, const Job& job, exec::Executor& executor)
    : optimizer_(job.optimizer),
      has_dropout_(job.lora && job.lora->dropout > 0),
      buckets_(buckets_of(job.data)) {
  for (const Bucket& bucket : buckets_) {
    const StepInstance instance = instantiate_step(programs, job, bucket);
    microbatch_.push_back(plan_pass(executor, instance.microbatch, job, bucket));
    score_.push_back(plan_pass(executor, instantiate_score(programs, bucket), job, bucket));
    if (!update_) update_ = executor.plan(instance.update, exec::Weights::trained);
  }
}

std::size_t StepPlans::bucket_index(const Microbatch& microbatch) const {
  const auto at = std::ranges::find(buckets_, microbatch.capacity_tokens, &Bucket::tokens);
  ensure(at != buckets_.end(), ErrorKind::bug, "microbatch: no bucket has {} tokens",
         microbatch.capacity_tokens);
  return static_cast<std::size_t>(at - buckets_.begin());
}

void StepPlans::accumulate(const Microbatch& microbatch, std::uint64_t dropout_seed) {
  exec::Plan& plan = *microbatch_[bucket_index(microbatch)];
  write_inputs(plan, microbatch);
  if (has_dropout_) exec::host_span<std::uint64_t>(plan, "dropout_seed").front() = dropout_seed;
  plan.start();
}

StepResult StepPlans::update(const UpdateInputs& inputs) {
  exec::Plan& plan = *update_;
  exec::host_span<float>(plan, "lr").front() = static_cast<float>(inputs.lr);
  exec::host_span<std::uint64_t>(plan, "rounding_seed").front() = inputs.rounding_seed;
  if (optimizer_.kind == OptimizerKind::sgd) {
    exec::host_span<float>(plan, "momentum_gain").front() =
        inputs.update == 1 ? 1.0f : static_cast<float>(1 - optimizer_.dampening);
  } else {
    const auto correction = exec::host_span<float>(plan, "adam_correction");
    const auto count = static_cast<double>(inputs.update);
    correction[0] = static_cast<float>(1 / (1 - std::pow(optimizer_.beta1, count)));
    correction[1] = static_cast<float>(1 / std::sqrt(1 - std::pow(optimizer_.beta2, count)));
  }
  plan.run();
  return {.loss = output_number<float>(plan, "step_loss"),
          .norm = output_number<float>(plan, "step_norm"),
          .weight = output_number<float>(plan, "step_weight"),
          .applied = output_number<std::byte>(plan, "step_applied") != std::byte{0}};
}

std::span<const float> StepPlans::score(const Microbatch& microbatch, ScoreResult& sum) {
  exec::Plan& plan = *score_[bucket_index(microbatch)];
  write_inputs(plan, microbatch);
  plan.run();
  sum.loss_sum += static_cast<double>(output_number<float>(plan, "total_loss"));
  sum.weight += microbatch.weight;
  return exec::host_span<float>(plan, "loss");
}

}  // namespace parhelion::train
