#include "ir/builder.h"

#include "base/error.h"

namespace parhelion::ir {

Builder::Builder(Program& program) : program_(program) {
  for (std::uint32_t i = 0; i < program.labels.size(); ++i) labels_[program.labels[i]] = i;
  for (std::uint32_t i = 0; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    if (value.buffer)
      newest_[program.at(value.buffer).name] = {i + 1};  // versions ascend in value order
  }
}

ValueId Builder::input(std::string_view name, TensorType type, Lifetime lifetime) {
  return buffer({.name = std::string(name),
                 .type = std::move(type),
                 .role = Role::input,
                 .lifetime = lifetime});
}

ValueId Builder::parameter(std::string_view name, TensorType type) {
  return buffer({.name = std::string(name), .type = std::move(type), .role = Role::parameter});
}

ValueId Builder::state(std::string_view name, TensorType type, Lifetime lifetime) {
  return buffer({.name = std::string(name),
                 .type = std::move(type),
                 .role = Role::state,
                 .lifetime = lifetime});
}

ValueId Builder::constant(std::string_view name, Op init) {
  TensorType type = infer(init, {}).front();
  return buffer({.name = std::string(name),
                 .type = std::move(type),
                 .role = Role::constant,
                 .init = std::move(init)});
}

ValueId Builder::buffer(Buffer buffer) {
  if (const auto known = newest_.find(buffer.name); known != newest_.end()) {
    const Buffer& old = program_.at(program_.at(known->second).buffer);
    ensure(old.type == buffer.type && old.role == buffer.role, ErrorKind::invalid,
           "buffer '{}': is {} {}, expected {} {}", buffer.name, ir::name(old.role),
           to_string(old.type), ir::name(buffer.role), to_string(buffer.type));
    return known->second;
  }
  const std::string name = buffer.name;
  const TensorType type = buffer.type;
  program_.buffers.push_back(std::move(buffer));
  program_.values.push_back(
      {.type = type, .buffer = {static_cast<std::uint32_t>(program_.buffers.size())}});
  const ValueId value{static_cast<std::uint32_t>(program_.values.size())};
  newest_[name] = value;
  return value;
}

std::vector<ValueId> Builder::add(Op op, const std::vector<ValueId>& inputs) {
  OpNode node{.gate = gate_, .phase = phase_, .layer = layer_, .label = label_};
  for (const ValueId input : inputs) node.inputs.push_back({.value = input});
  const std::vector<TensorType> types = infer(op, input_types(program_, node));
  const OpId id{static_cast<std::uint32_t>(program_.ops.size()) + 1};
  for (const TensorType& type : types) {
    program_.values.push_back({.type = type, .producer = id});
    node.outputs.push_back({static_cast<std::uint32_t>(program_.values.size())});
  }
  for (const Tie& tie : traits(op).ties) {
    const Value source = program_.at(inputs[static_cast<std::size_t>(tie.input)]);
    Value& next = program_.at(node.outputs[static_cast<std::size_t>(tie.output)]);
    next.buffer = source.buffer;
    next.version = source.version + 1;
    if (source.buffer)
      newest_[program_.at(source.buffer).name] = node.outputs[static_cast<std::size_t>(tie.output)];
  }
  node.op = std::move(op);
  std::vector<ValueId> outputs = node.outputs;
  program_.ops.push_back(std::move(node));
  return outputs;
}

ValueId Builder::one(Op op, const std::vector<ValueId>& inputs) {
  const std::vector<ValueId> outputs = add(std::move(op), inputs);
  ensure(outputs.size() == 1, ErrorKind::bug, "builder: op has {} outputs, expected 1",
         outputs.size());
  return outputs.front();
}

void Builder::output(std::string_view name, ValueId value) {
  Value& activation = program_.at(value);
  ensure(activation.producer && !activation.buffer, ErrorKind::invalid,
         "output '{}': is no activation", name);
  ensure(!find_buffer(program_, name), ErrorKind::invalid,
         "output '{}': a buffer has this name already", name);
  program_.buffers.push_back({.name = std::string(name),
                              .type = activation.type,
                              .role = Role::output,
                              .lifetime = Lifetime::microbatch});
  activation.buffer = {static_cast<std::uint32_t>(program_.buffers.size())};
  activation.version = 1;
}

void Builder::set_label(std::string_view label) {
  const auto [at, added] =
      labels_.try_emplace(std::string(label), static_cast<std::uint32_t>(program_.labels.size()));
  if (added) program_.labels.emplace_back(label);
  label_ = at->second;
}

}  // namespace parhelion::ir
