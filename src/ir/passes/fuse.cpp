#include "ir/passes/fuse.h"

#include "ir/passes/relink.h"

#include <algorithm>

namespace parhelion::ir {
namespace {

/// A program under rewriting: ops are replaced or marked as gone, then dropped together.
struct Fusion {
  Program& program;
  std::vector<std::int32_t> uses;
  std::vector<bool> gone;

  explicit Fusion(Program& of)
      : program(of), uses(count_uses(of)), gone(of.ops.size() + 1, false) {}

  template <class Wanted>
  const Wanted* producer_as(ValueId value, Phase phase) const {
    const OpId producer = program.at(value).producer;
    if (!producer || gone[producer.index] || program.at(producer).phase != phase) return nullptr;
    return std::get_if<Wanted>(&program.at(producer).op);
  }
};

bool is_residual_sum(const OpNode& node) {
  const auto* binary = std::get_if<Binary>(&node.op);
  return binary != nullptr && binary->function == BinaryFunction::add;
}

/// The norm moves up to the sum, so its weight must be there already and no operand may be
/// reshaped.
void fuse_sum_and_norm(Fusion& fusion, OpId id) {
  OpNode& norm = fusion.program.at(id);
  const auto* op = std::get_if<RmsNorm>(&norm.op);
  if (op == nullptr || norm.inputs[0].shape || fusion.program.at(norm.inputs[1].value).producer)
    return;
  const OpId sum_id = fusion.program.at(norm.inputs[0].value).producer;
  if (!sum_id || fusion.gone[sum_id.index]) return;
  OpNode& sum = fusion.program.at(sum_id);
  if (!is_residual_sum(sum) || sum.phase != norm.phase) return;
  sum.op = AddRmsNorm{op->eps};
  sum.inputs.push_back(norm.inputs[1]);
  sum.outputs.push_back(norm.outputs[0]);
  sum.label = norm.label;
  fusion.gone[id.index] = true;
}

bool is_plain_projection(const MatMul* op) {
  return op != nullptr && *op == MatMul{.transpose_b = true, .out = op->out};
}

void fuse_gate_and_up(Fusion& fusion, OpId id) {
  OpNode& swiglu = fusion.program.at(id);
  if (!std::holds_alternative<Swiglu>(swiglu.op)) return;
  const ValueId gate = swiglu.inputs[0].value;
  const ValueId up = swiglu.inputs[1].value;
  if (!is_plain_projection(fusion.producer_as<MatMul>(gate, swiglu.phase)) ||
      !is_plain_projection(fusion.producer_as<MatMul>(up, swiglu.phase)) || gate == up) {
    return;
  }
  const OpId gate_id = fusion.program.at(gate).producer;
  const OpId up_id = fusion.program.at(up).producer;
  const OpNode& gate_node = fusion.program.at(gate_id);
  const OpNode& up_node = fusion.program.at(up_id);
  const auto only_used_here = [&](ValueId value) {
    return fusion.uses[value.index] == 1 && !fusion.program.at(value).buffer;
  };
  const Kind kind = operand_type(fusion.program, gate_node.inputs[0]).kind();
  if (gate_node.inputs[0] != up_node.inputs[0] || !only_used_here(gate) || !only_used_here(up) ||
      std::get<MatMul>(gate_node.op).out != kind) {
    return;
  }
  swiglu.op = GateUp{};
  swiglu.inputs = {gate_node.inputs[0], gate_node.inputs[1], up_node.inputs[1]};
  fusion.gone[gate_id.index] = fusion.gone[up_id.index] = true;
}

}  // namespace

void fuse(Program& program) {
  Fusion fusion(program);
  for (std::uint32_t i = 1; i <= program.ops.size(); ++i) {
    fuse_sum_and_norm(fusion, {i});
    if (!fusion.gone[i]) fuse_gate_and_up(fusion, {i});
  }
  std::vector<OpNode> kept;
  for (std::uint32_t i = 1; i <= program.ops.size(); ++i) {
    if (!fusion.gone[i]) kept.push_back(std::move(program.at(OpId{i})));
  }
  program.ops = std::move(kept);
  relink(program);
}

}  // namespace parhelion::ir
