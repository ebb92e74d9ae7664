#include "support/reference/evaluate.h"

#include "support/reference/families.h"

namespace parhelion::test {
namespace {

/// The content of a buffer before the program runs.
Wide initial_content(const ir::Buffer& buffer, const NamedWide& given) {
  if (const auto at = given.find(buffer.name); at != given.end()) return at->second;
  return buffer.init ? evaluate(*buffer.init, WideInputs{}).front() : zeros(buffer.type);
}

/// `values` is indexed by value id.
void evaluate_node(const ir::Program& instance, const ir::OpNode& node, std::vector<Wide>& values) {
  std::vector<Wide> inputs;
  for (const ir::Operand& operand : node.inputs) {
    inputs.push_back(values[operand.value.index]);
    inputs.back().type = ir::operand_type(instance, operand);
  }
  std::vector<Wide> outputs = evaluate(node.op, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    values[node.outputs[i].index] = std::move(outputs[i]);
  }
}

}  // namespace

std::vector<Wide> evaluate(const ir::Op& op, const std::vector<Wide>& inputs) {
  return std::visit([&](const auto& each) { return reference(each, inputs); }, op);
}

NamedWide evaluate(const ir::Program& instance, const NamedWide& buffers) {
  std::vector<Wide> values(instance.values.size() + 1);
  NamedWide result;
  for (std::uint32_t i = 1; i <= instance.values.size(); ++i) {
    const ir::Value& value = instance.at(ir::ValueId{i});
    if (value.producer) continue;
    values[i] = initial_content(instance.at(value.buffer), buffers);
    result[instance.at(value.buffer).name] = values[i];
  }
  for (const ir::OpNode& node : instance.ops) {
    evaluate_node(instance, node, values);
    for (const ir::ValueId output : node.outputs) {
      const ir::BufferId buffer = instance.at(output).buffer;
      if (buffer) result[instance.at(buffer).name] = values[output.index];
    }
  }
  return result;
}

}  // namespace parhelion::test
