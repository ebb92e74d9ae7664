#include "ir/passes/relink.h"

namespace parhelion::ir {

std::vector<std::int32_t> count_uses(const Program& program) {
  std::vector<std::int32_t> uses(program.values.size() + 1, 0);
  for (const OpNode& node : program.ops) {
    for (const Operand& input : node.inputs) ++uses[input.value.index];
    if (node.gate) ++uses[node.gate.index];
  }
  return uses;
}

void relink(Program& program) {
  for (Value& value : program.values) value.producer = {};
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
    for (const ValueId output : program.ops[i].outputs) program.at(output).producer = {i + 1};
  }
  std::vector<ValueId> renamed(program.values.size() + 1);
  std::vector<Value> kept;
  for (std::uint32_t i = 1; i <= program.values.size(); ++i) {
    const Value& value = program.at(ValueId{i});
    const bool content_of_buffer = value.buffer && value.version == 0;
    if (!value.producer && !content_of_buffer) continue;
    kept.push_back(value);
    renamed[i] = {static_cast<std::uint32_t>(kept.size())};
  }
  program.values = std::move(kept);
  for (OpNode& node : program.ops) {
    for (Operand& input : node.inputs) input.value = renamed[input.value.index];
    if (node.gate) node.gate = renamed[node.gate.index];
    for (ValueId& output : node.outputs) output = renamed[output.index];
  }
}

}  // namespace parhelion::ir
