#include "train/loop/job_memory.h"

#include "ir/memory_plan.h"

#include <set>
#include <string_view>

namespace parhelion::train {
namespace {

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

}  // namespace

JobMemory lasting_memory(const ir::Program& step) {
  JobMemory result;
  for (const ir::Buffer& buffer : step.buffers) {
    const bool is_own = buffer.role == ir::Role::input || buffer.role == ir::Role::output;
    if (!is_own) share_of(result, buffer) += ir::byte_count(buffer.type);
  }
  result.frozen_copies = frozen_copy_bytes(step);
  return result;
}

void add_activations(JobMemory& memory, const ir::Program& microbatch) {
  const ir::MemoryPlan plan = ir::plan_memory(microbatch);
  for (const ir::ArenaKind arena : {ir::ArenaKind::slot, ir::ArenaKind::transient}) {
    memory.activations += plan.peak_bytes[static_cast<std::size_t>(arena)];
    memory.activations_bound += plan.lower_bound_bytes[static_cast<std::size_t>(arena)];
  }
}

}  // namespace parhelion::train
