#include "ir/print.h"

#include <fmt/format.h>

namespace parhelion::ir {
namespace {

bool names_value(const Program& program, ValueId id) {
  return id.index >= 1 && id.index <= program.values.size();
}

/// Such as `%7` for an activation, `%7 pages@2` for a version of a buffer.
std::string value_text(const Program& program, ValueId id) {
  std::string text = fmt::format("%{}", id.index);
  if (!names_value(program, id)) return text + "?";
  const Value& value = program.at(id);
  if (!value.buffer) return text;
  if (value.buffer.index > program.buffers.size()) {
    return text + fmt::format(" buffer {}?", value.buffer.index);
  }
  text += " " + program.at(value.buffer).name;
  if (value.version != 0) text += fmt::format("@{}", value.version);
  return text;
}

std::string operand_text(const Program& program, const Operand& operand) {
  std::string text = value_text(program, operand.value);
  if (operand.shape) text += " as " + to_string(*operand.shape);
  return text;
}

std::string output_text(const Program& program, ValueId id) {
  std::string text = value_text(program, id);
  if (names_value(program, id)) text += ": " + to_string(program.at(id).type);
  return text;
}

template <class Items, class Text>
std::string joined_text(const Items& items, Text text) {
  std::string result;
  for (const auto& item : items) result += (result.empty() ? "" : ", ") + text(item);
  return result;
}

std::string buffer_line(const Buffer& buffer) {
  const std::string init = buffer.init ? " = " + to_string(*buffer.init) : "";
  const std::string_view frozen = buffer.trainable ? "" : ", frozen";
  return fmt::format("buffer {}: {} | {}, {}{}{}\n", buffer.name, to_string(buffer.type),
                     name(buffer.role), name(buffer.lifetime), frozen, init);
}

std::string op_line(const Program& program, std::size_t index) {
  const OpNode& node = program.ops[index];
  const std::string outputs =
      joined_text(node.outputs, [&](ValueId id) { return output_text(program, id); });
  const std::string inputs =
      joined_text(node.inputs, [&](const Operand& each) { return operand_text(program, each); });
  std::string line = fmt::format("{}. {} = {}", index + 1, outputs, to_string(node.op));
  if (!inputs.empty()) line += " " + inputs;
  if (node.gate) line += " if " + value_text(program, node.gate);
  line += fmt::format(" | {}, layer {}", name(node.phase), node.layer);
  if (node.label >= program.labels.size()) return line + fmt::format(", label {}?\n", node.label);
  const std::string& label = program.labels[node.label];
  return line + (label.empty() ? "" : ", " + label) + "\n";
}

}  // namespace

std::string print(const Program& program) {
  std::string text = fmt::format("program {}\n", program.name);
  for (const Buffer& buffer : program.buffers) text += buffer_line(buffer);
  for (std::size_t i = 0; i < program.ops.size(); ++i) text += op_line(program, i);
  return text;
}

}  // namespace parhelion::ir
