#include "ir/program.h"

#include <algorithm>
#include <array>

namespace parhelion::ir {

std::string_view name(Role role) {
  constexpr std::array<std::string_view, 5> kNames = {"input", "parameter", "state", "constant",
                                                      "output"};
  return kNames.at(static_cast<std::size_t>(role));
}

std::string_view name(Lifetime lifetime) {
  constexpr std::array<std::string_view, 3> kNames = {"process", "step", "microbatch"};
  return kNames.at(static_cast<std::size_t>(lifetime));
}

std::string_view name(Phase phase) {
  constexpr std::array<std::string_view, 5> kNames = {"forward", "input_grad", "weight_grad",
                                                      "reduce", "update"};
  return kNames.at(static_cast<std::size_t>(phase));
}

BufferId find_buffer(const Program& program, std::string_view name) {
  const auto at = std::ranges::find(program.buffers, name, &Buffer::name);
  if (at == program.buffers.end()) return {};
  return {static_cast<std::uint32_t>(at - program.buffers.begin()) + 1};
}

TensorType operand_type(const Program& program, const Operand& operand) {
  TensorType type = program.at(operand.value).type;
  if (operand.shape) type.shape = *operand.shape;
  return type;
}

std::vector<TensorType> input_types(const Program& program, const OpNode& node) {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (const Operand& operand : node.inputs) types.push_back(operand_type(program, operand));
  return types;
}

std::vector<TensorType> output_types(const Program& program, const OpNode& node) {
  std::vector<TensorType> types;
  types.reserve(node.outputs.size());
  for (const ValueId value : node.outputs) types.push_back(program.at(value).type);
  return types;
}

}  // namespace parhelion::ir
