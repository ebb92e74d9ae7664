#include "exec/op_view.h"

namespace parhelion::exec {

OpView view_of(const ir::Program& instance, const ir::OpNode& node, Weights weights) {
  OpView view{.node = node,
              .inputs = ir::input_types(instance, node),
              .outputs = ir::output_types(instance, node),
              .frozen = {}};
  for (const ir::Operand& operand : node.inputs) {
    const ir::BufferId buffer = instance.at(operand.value).buffer;
    const bool parameter = buffer && instance.at(buffer).role == ir::Role::parameter;
    view.frozen.push_back(parameter && !operand.shape &&
                          (weights == Weights::frozen || !instance.at(buffer).trainable));
  }
  return view;
}

std::int64_t count_of(const ir::TensorType& type) { return ir::element_count(type); }

std::int64_t columns_of(const ir::TensorType& type) {
  return type.rank() == 0 ? 1 : ir::number(type.shape.back());
}

std::int64_t rows_of(const ir::TensorType& type) {
  const std::int64_t columns = columns_of(type);
  return columns == 0 ? 0 : count_of(type) / columns;
}

}  // namespace parhelion::exec
