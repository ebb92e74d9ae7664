#include "train/loop/job_report.h"

#include "base/counted.h"
#include "ir/cost_summary.h"
#include "train/data/batch_stream.h"
#include "train/lr/schedule.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace parhelion::train {
namespace {

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 0x1p20; }

std::string program_lines(const TrainingPrograms& programs, const Job& job) {
  std::string text = fmt::format("programs: step with {} ops, score with {}\n",
                                 programs.step.ops.size(), programs.score.ops.size());
  text += "buckets:";
  for (const Bucket& bucket : buckets_of(job.data))
    text += fmt::format(" {} in {} at most;", counted(bucket.tokens, "token"),
                        counted(bucket.documents, "document"));
  text.back() = '\n';
  return text;
}

std::string memory_lines(const JobMemory& memory) {
  const auto line = [](std::string_view what, std::int64_t bytes) {
    return fmt::format("  {:<12}{:>10.1f} MiB\n", what, mebibytes(bytes));
  };
  std::string text = "memory\n";
  text += line("parameters", memory.parameters);
  if (memory.frozen_copies > 0) text += line("their copies", memory.frozen_copies);
  text += line("gradients", memory.gradients);
  text += line("optimizer", memory.optimizer) + line("constants", memory.constants);
  text += fmt::format("  {:<12}{:>10.1f} MiB, lower bound {:.1f} MiB\n", "activations",
                      mebibytes(memory.activations), mebibytes(memory.activations_bound));
  return text + line("total", memory.total());
}

/// Gradient ops by family: clones are among them.
std::map<std::string_view, std::int64_t> gradient_op_counts(const ir::Program& microbatch) {
  std::map<std::string_view, std::int64_t> counts;
  for (const ir::OpNode& node : microbatch.ops)
    if (node.phase != ir::Phase::forward) ++counts[ir::traits(node.op).name];
  return counts;
}

/// What a pass does more than one which keeps all.
RecomputeCost cost_recompute(const TrainingPrograms& programs, const Job& job,
                             const ir::Program& microbatch) {
  Job keeping = job;
  keeping.model.recompute = Recompute::none;
  const ir::Program kept =
      instantiate_step(programs, keeping, buckets_of(job.data).back()).microbatch;
  RecomputeCost result;
  result.op_counts = gradient_op_counts(microbatch);
  for (const auto& [family, count] : gradient_op_counts(kept)) result.op_counts[family] -= count;
  std::erase_if(result.op_counts, [](const auto& each) { return each.second == 0; });
  result.work_share =
      ir::summarize_cost(microbatch).total.cost.flops / ir::summarize_cost(kept).total.cost.flops -
      1;
  JobMemory memory;
  add_activations(memory, kept);
  result.kept_activations = memory.activations;
  return result;
}

std::string recompute_line(const Job& job, const RecomputeCost& cost) {
  const Recompute policy = job.model.recompute.value_or(Recompute::none);
  if (policy == Recompute::none) return "";
  std::vector<std::string> families;
  for (const auto& [family, count] : cost.op_counts)
    families.push_back(fmt::format("{} {}", count, family));
  if (families.empty()) return fmt::format("recompute: {}, nothing\n", choice_name(policy));
  return fmt::format("recompute: {}, {}; {:.2f} % more work; kept, activations were {:.1f} MiB\n",
                     choice_name(policy), fmt::join(families, ", "), 100 * cost.work_share,
                     mebibytes(cost.kept_activations));
}

std::string schedule_lines(const Job& job, std::int64_t total_steps) {
  const Schedule schedule = build_schedule(job.schedule, total_steps);
  std::string text = "learning rate\n";
  for (const std::int64_t percent : {0, 10, 25, 50, 75, 100}) {
    const std::int64_t step = (total_steps - 1) * percent / 100;
    text += fmt::format("  step {:>8}  {:.6g}\n", step + 1,
                        job.optimizer.lr * multiplier(schedule, step));
  }
  return text;
}

}  // namespace

JobCost cost_job(const TrainingPrograms& programs, const Job& job) {
  const Bucket largest = buckets_of(job.data).back();
  const StepInstance instance = instantiate_step(programs, job, largest);
  JobCost result;
  result.memory = lasting_memory(programs.step);
  add_activations(result.memory, instance.microbatch);
  result.recompute = cost_recompute(programs, job, instance.microbatch);
  const auto count = static_cast<double>(job.data.microbatches);
  result.step_flops = count * ir::summarize_cost(instance.microbatch).total.cost.flops +
                      ir::summarize_cost(instance.update).total.cost.flops;
  result.step_tokens = job.data.microbatches * largest.tokens;
  return result;
}

std::string describe_plan(const TrainingPrograms& programs, const Job& job,
                          std::int64_t total_steps, double peak) {
  const JobCost cost = cost_job(programs, job);
  std::string text = program_lines(programs, job) + memory_lines(cost.memory);
  text += recompute_line(job, cost.recompute);
  text += fmt::format(
      "step: {} microbatch{} of up to {}, {:.1f} GFLOP; at the measured matmul rate of "
      "{:.1f} GFLOP/s no less than {:.2f} s\n",
      job.data.microbatches, job.data.microbatches == 1 ? "" : "es",
      counted(buckets_of(job.data).back().tokens, "token"), cost.step_flops / 1e9, peak / 1e9,
      cost.step_flops / peak);
  text += fmt::format("steps: {}, no less than {:.0f} s in all\n", total_steps,
                      static_cast<double>(total_steps) * cost.step_flops / peak);
  return text + schedule_lines(job, total_steps);
}

}  // namespace parhelion::train
