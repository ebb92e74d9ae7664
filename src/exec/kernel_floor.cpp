#include "exec/kernel_floor.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace parhelion::exec {
namespace {

/// How often each value is read, by id minus 1, and the last op that reads it.
struct Readers {
  std::vector<std::int64_t> count;
  std::vector<std::size_t> last_op;
};

Readers readers_of(const ir::Program& instance) {
  Readers result{.count = std::vector<std::int64_t>(instance.values.size()),
                 .last_op = std::vector<std::size_t>(instance.values.size())};
  for (std::size_t i = 0; i < instance.ops.size(); ++i) {
    for (const ir::Operand& input : instance.ops[i].inputs) {
      ++result.count[input.value.index - 1];
      result.last_op[input.value.index - 1] = i;
    }
  }
  return result;
}

ir::Cost cost_of(const ir::Program& instance, const ir::OpNode& node) {
  return ir::cost(node.op, ir::input_types(instance, node), ir::output_types(instance, node));
}

/// Bytes that ops before `end` write and read again of an op's outputs, and nobody else reads.
double handed_bytes(const ir::Program& instance, const Readers& readers, const ir::OpNode& node,
                    std::size_t end) {
  double bytes = 0;
  for (const ir::ValueId output : node.outputs) {
    const ir::Value& value = instance.at(output);
    const std::size_t at = output.index - 1;
    if (value.buffer || readers.count[at] == 0 || readers.last_op[at] >= end) continue;
    bytes += static_cast<double>(ir::byte_count(value.type)) *
             static_cast<double>(1 + readers.count[at]);
  }
  return bytes;
}

/// Products of bf16 operands are faster than those of f32.
bool has_bf16_operands(const ir::Program& instance, const ir::OpNode& node) {
  const std::vector<ir::TensorType> inputs = ir::input_types(instance, node);
  return std::ranges::any_of(
      inputs, [](const ir::TensorType& type) { return type.kind() == ir::Kind::bf16; });
}

void bound_time(KernelFloor& kernel, const Roofline& roofline, double flops_per_second) {
  const std::array bounds = {
      std::pair{kernel.cost.bytes / roofline.bytes_per_second, Bound::bytes},
      std::pair{kernel.cost.flops / flops_per_second, Bound::flops},
      std::pair{static_cast<double>(kernel.launches) * roofline.launch_seconds, Bound::launches}};
  std::tie(kernel.seconds, kernel.bound) =
      *std::ranges::max_element(bounds, {}, [](const auto& bound) { return bound.first; });
}

}  // namespace

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::bytes:
      return "bytes";
    case Bound::flops:
      return "flops";
    case Bound::launches:
      return "launches";
  }
  return "?";
}

std::vector<KernelFloor> kernel_floors(const Plan& plan, const Roofline* roofline) {
  const ir::Program& instance = plan.instance();
  const Readers readers = readers_of(instance);
  std::vector<KernelFloor> result;
  for (std::size_t i = 0; i < instance.ops.size();) {
    const StepReport& step = plan.steps()[i];
    KernelFloor kernel{.first_op = i, .op_count = step.op_count, .launches = step.launches};
    const std::size_t end = i + static_cast<std::size_t>(step.op_count);
    const bool is_bf16 = has_bf16_operands(instance, instance.ops[i]);
    for (; i < end; ++i) {
      const ir::OpNode& node = instance.ops[i];
      const ir::Cost cost = cost_of(instance, node);
      kernel.cost.flops += cost.flops;
      kernel.cost.bytes += cost.bytes - handed_bytes(instance, readers, node, end);
    }
    if (roofline != nullptr) {
      bound_time(kernel, *roofline,
                 is_bf16 ? roofline->bf16_flops_per_second : roofline->f32_flops_per_second);
    }
    result.push_back(kernel);
  }
  return result;
}

}  // namespace parhelion::exec
