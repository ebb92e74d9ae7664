#include "train/loop/job_report.h"

#include "base/counted.h"
#include "ir/cost_summary.h"
#include "ir/memory_plan.h"
#include "train/data/batch_stream.h"
#include "train/lr/schedule.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

namespace parhelion::train {
namespace {

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 0x1p20; }

/// The kind of memory that a buffer is counted under.
std::int64_t& share_of(JobMemory& memory, const ir::Buffer& buffer) {
  if (buffer.role == ir::Role::parameter) return memory.parameters;
  if (buffer.role == ir::Role::state)
    return buffer.lifetime == ir::Lifetime::step ? memory.gradients : memory.optimizer;
  return memory.constants;
}

/// A weight that training does not change is resident twice: its rows, which the gradient of its
/// inputs reads, and laid out for the product of the forward pass.
std::int64_t frozen_copy_bytes(const ir::Program& program) {
  std::set<std::string_view> counted_names;
  std::int64_t bytes = 0;
  for (const ir::OpNode& node : program.ops) {
    const auto* product = std::get_if<ir::MatMul>(&node.op);
    if (product == nullptr || !product->transpose_b) continue;
    const ir::BufferId id = program.at(node.inputs[1].value).buffer;
    if (!id || program.at(id).role != ir::Role::parameter || program.at(id).trainable) continue;
    if (counted_names.insert(program.at(id).name).second)
      bytes += ir::byte_count(program.at(id).type);
  }
  return bytes;
}

void add_activations(JobMemory& memory, const ir::MemoryPlan& plan) {
  for (const ir::ArenaKind arena : {ir::ArenaKind::slot, ir::ArenaKind::transient}) {
    memory.activations += plan.peak_bytes[static_cast<std::size_t>(arena)];
    memory.activations_bound += plan.lower_bound_bytes[static_cast<std::size_t>(arena)];
  }
}

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
  for (const ir::Buffer& buffer : programs.step.buffers) {
    const bool is_own = buffer.role == ir::Role::input || buffer.role == ir::Role::output;
    if (!is_own) share_of(result.memory, buffer) += ir::byte_count(buffer.type);
  }
  result.memory.frozen_copies = frozen_copy_bytes(programs.step);
  add_activations(result.memory, ir::plan_memory(instance.microbatch));
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
