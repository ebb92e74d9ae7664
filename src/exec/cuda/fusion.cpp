#include "exec/cuda/fusion.h"

#include "exec/cuda/fusions/fusions.h"

#include <algorithm>
#include <array>

namespace parhelion::exec::cuda {
namespace {

/// An operand of a fusion: its op, its place there, its type and where it lies.
struct FusedOperand {
  const ir::OpNode* node;
  std::size_t index;
  ir::TensorType type;
  ir::Range range;
};

bool is_tied_input(const ir::OpNode& node, std::size_t input) {
  return std::ranges::any_of(ir::traits(node.op).ties, [&](const ir::Tie& tie) {
    return static_cast<std::size_t>(tie.input) == input;
  });
}

bool overlap(const ir::Range& a, const ir::Range& b) {
  return a.arena == b.arena && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

/// What the kernel reads besides operands that are tied to its outputs.
std::vector<FusedOperand> fused_reads(const Uses& uses, const ir::MemoryPlan& memory,
                                      std::size_t first, std::size_t end) {
  const ir::Program& instance = uses.instance();
  std::vector<FusedOperand> result;
  for (std::size_t i = first; i < end; ++i) {
    const ir::OpNode& node = instance.ops[i];
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const ir::ValueId value = node.inputs[input].value;
      if (is_tied_input(node, input) || uses.is_within(value, first, end)) continue;
      result.push_back({&node, input, instance.at(value).type, memory.of_value[value.index - 1]});
    }
  }
  return result;
}

/// What the kernel writes.
std::vector<FusedOperand> fused_writes(const Uses& uses, const ir::MemoryPlan& memory,
                                       std::size_t first, std::size_t end) {
  const ir::Program& instance = uses.instance();
  std::vector<FusedOperand> result;
  for (std::size_t i = first; i < end; ++i) {
    const ir::OpNode& node = instance.ops[i];
    for (std::size_t output = 0; output < node.outputs.size(); ++output) {
      const ir::ValueId value = node.outputs[output];
      if (uses.is_within(value, first, end)) continue;
      result.push_back({&node, output, instance.at(value).type, memory.of_value[value.index - 1]});
    }
  }
  return result;
}

std::size_t operands_before(std::span<const OpView> ops, std::size_t op,
                            std::vector<ir::TensorType> OpView::*operands) {
  std::size_t result = 0;
  for (const OpView& each : ops.first(op)) result += (each.*operands).size();
  return result;
}

}  // namespace

Uses::Uses(const ir::Program& instance) : instance_(instance), readers_(instance.values.size()) {
  for (std::size_t i = 0; i < instance.ops.size(); ++i) {
    const ir::OpNode& node = instance.ops[i];
    for (const ir::Operand& input : node.inputs) readers_[input.value.index - 1].push_back(i);
    if (node.gate) readers_[node.gate.index - 1].push_back(i);
  }
}

bool Uses::is_made_in(ir::ValueId value, std::size_t first, std::size_t end) const {
  const ir::OpId producer = instance_.at(value).producer;
  return producer && first < producer.index && producer.index <= end;  // ids count from 1
}

bool Uses::is_within(ir::ValueId value, std::size_t first, std::size_t end) const {
  const std::vector<std::size_t>& readers = readers_[value.index - 1];
  return !instance_.at(value).buffer && is_made_in(value, first, end) && !readers.empty() &&
         readers.back() < end;
}

std::span<const Fusion> all_fusions() {
  static const std::array fusions = {norm_gradients_fusion(), product_add_fusion(),
                                     head_rows_fusion(), gemvs_fusion(), resident_fusion()};
  return fusions;
}

bool fits_memory(const Fusion& fusion, const Uses& uses, const ir::MemoryPlan& memory,
                 std::size_t first, std::size_t count) {
  const auto reads = fused_reads(uses, memory, first, first + count);
  const auto writes = fused_writes(uses, memory, first, first + count);
  const auto clashes = [&](const FusedOperand& write, const FusedOperand& read) {
    if (!overlap(write.range, read.range)) return false;
    const bool is_in_place = write.range == read.range &&
                             ir::byte_count(write.type) == ir::byte_count(read.type) &&
                             write.type.kind() == read.type.kind();
    return !is_in_place || !fusion.in_place(*read.node, read.index, *write.node);
  };
  for (std::size_t i = 0; i < writes.size(); ++i) {
    for (const FusedOperand& read : reads)
      if (clashes(writes[i], read)) return false;
    for (std::size_t other = 0; other < i; ++other)
      if (overlap(writes[i].range, writes[other].range)) return false;
  }
  return true;
}

std::size_t first_input(std::span<const OpView> ops, std::size_t op) {
  return operands_before(ops, op, &OpView::inputs);
}

std::size_t first_output(std::span<const OpView> ops, std::size_t op) {
  return operands_before(ops, op, &OpView::outputs);
}

}  // namespace parhelion::exec::cuda
