#include "ir/verify.h"

#include "base/error.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace parhelion::ir {
namespace {

/// What the checks remember of the ops before the one at hand. Op numbers count from 1; 0 = none.
struct VerifyState {
  const Program& program;
  std::vector<std::uint32_t> given_by;     // per value: the op that gave it
  std::vector<std::uint32_t> updated_by;   // per value: the op that took it as a tied input
  std::vector<std::uint32_t> latest_read;  // per value: a reader of the latest phase
  std::vector<std::uint32_t> write_count;  // per buffer
  std::vector<std::uint32_t> forward_write, gradient_use;  // per buffer: the first such op
};

/// Such as "op 7 matmul (model.layers.0.self_attn.q_proj)".
std::string where(const Program& program, std::uint32_t number) {
  const OpNode& node = program.ops[number - 1];
  const std::string& label = program.labels[node.label];
  return fmt::format("op {} {}{}", number, traits(node.op).name,
                     label.empty() ? "" : " (" + label + ")");
}

template <class Tag, class Items>
bool exists(Id<Tag> id, const Items& items) {
  return id.index >= 1 && id.index <= items.size();
}

std::size_t place(ValueId id) { return id.index - 1; }
std::size_t place(BufferId id) { return id.index - 1; }

void verify_ids(const Program& program) {
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    if (value.producer && !exists(value.producer, program.ops))
      fail(ErrorKind::invalid, "verify P1: value {}: producer {} does not exist, there are {} ops",
           i + 1, value.producer.index, program.ops.size());
    if (value.buffer && !exists(value.buffer, program.buffers))
      fail(ErrorKind::invalid, "verify P1: value {}: buffer {} does not exist, there are {}", i + 1,
           value.buffer.index, program.buffers.size());
  }
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const OpNode& node = program.ops[i];
    if (node.label >= program.labels.size())
      fail(ErrorKind::invalid, "verify P1: op {} {}: label {} does not exist, there are {}", i + 1,
           traits(node.op).name, node.label, program.labels.size());
    std::vector<ValueId> named = node.outputs;
    for (const Operand& operand : node.inputs) named.push_back(operand.value);
    if (node.gate) named.push_back(node.gate);
    for (const ValueId id : named) {
      if (!exists(id, program.values))
        fail(ErrorKind::invalid, "verify P1: {}: value {} does not exist, there are {}",
             where(program, static_cast<std::uint32_t>(i + 1)), id.index, program.values.size());
    }
  }
}

/// The types that an op infers; a check of its family that fails says where.
std::vector<TensorType> verify_infer(std::string_view label, const std::string& place, const Op& op,
                                     Types inputs) {
  try {
    return infer(op, inputs);
  } catch (const Error& error) {
    fail(error.kind(), "verify {}: {}: {}", label, place, error.what());
  }
}

void verify_buffers(const Program& program) {
  std::set<std::string_view> names;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.name.empty() || !names.insert(buffer.name).second)
      fail(ErrorKind::invalid, "verify P2: buffer '{}': the name is {}, expected a unique one",
           buffer.name, buffer.name.empty() ? "empty" : "taken");
    if (buffer.role == Role::constant && !buffer.init)
      fail(ErrorKind::invalid, "verify P2: buffer '{}': is a constant without init", buffer.name);
    if (!buffer.init) continue;
    const TensorType type =
        verify_infer("P2", fmt::format("buffer '{}'", buffer.name), *buffer.init, {}).front();
    if (type != buffer.type)
      fail(ErrorKind::invalid, "verify P2: buffer '{}': init gives {}, expected {}", buffer.name,
           to_string(type), to_string(buffer.type));
  }
}

/// The content that buffers have before the program runs.
void verify_initial_values(const Program& program) {
  std::vector<std::uint32_t> initial(program.buffers.size());
  for (std::uint32_t i = 0; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    if (value.buffer && value.type != program.at(value.buffer).type)
      fail(ErrorKind::invalid, "verify P5: value {}: is {}, expected {} as buffer '{}'", i + 1,
           to_string(value.type), to_string(program.at(value.buffer).type),
           program.at(value.buffer).name);
    if (value.producer) continue;
    if (!value.buffer || value.version != 0)
      fail(ErrorKind::invalid,
           "verify P3: value {}: has no producer, expected version 0 of a buffer", i + 1);
    std::uint32_t& first = initial[place(value.buffer)];
    if (first != 0)
      fail(ErrorKind::invalid, "verify P3: values {} and {}: both are version 0 of buffer '{}'",
           first, i + 1, program.at(value.buffer).name);
    first = i + 1;
  }
}

void verify_read(VerifyState& state, std::uint32_t number, const Operand& operand) {
  const Program& program = state.program;
  const Value& value = program.at(operand.value);
  const std::size_t at = place(operand.value);
  if (value.producer && state.given_by[at] == 0)
    fail(ErrorKind::invalid, "verify P4: {}: reads value {} before op {} gives it",
         where(program, number), operand.value.index, value.producer.index);
  if (state.updated_by[at] != 0)
    fail(ErrorKind::invalid, "verify P7: {}: names value {}, which op {} updated",
         where(program, number), operand.value.index, state.updated_by[at]);
  const Phase phase = program.ops[number - 1].phase;
  if (value.producer && program.at(value.producer).phase > phase)
    fail(ErrorKind::invalid, "verify P10: {}: is of phase {} and reads value {} of phase {}",
         where(program, number), name(phase), operand.value.index,
         name(program.at(value.producer).phase));
  std::uint32_t& latest = state.latest_read[at];
  if (latest == 0 || program.ops[latest - 1].phase < phase) latest = number;
  if (!operand.shape || *operand.shape == value.type.shape) return;
  const Dim count = element_count(*operand.shape);
  const Dim expected = element_count(value.type.shape);
  if (count != expected)
    fail(ErrorKind::invalid, "verify P5: {}: reads value {} as {} with {} elements, expected {}",
         where(program, number), operand.value.index, to_string(*operand.shape), to_string(count),
         to_string(expected));
}

void verify_types(const Program& program, std::uint32_t number) {
  const OpNode& node = program.ops[number - 1];
  const std::vector<TensorType> types =
      verify_infer("P5", where(program, number), node.op, input_types(program, node));
  if (types.size() != node.outputs.size())
    fail(ErrorKind::invalid, "verify P5: {}: has {} outputs, expected {}", where(program, number),
         node.outputs.size(), types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const TensorType& type = program.at(node.outputs[i]).type;
    if (type != types[i])
      fail(ErrorKind::invalid, "verify P5: {}: value {} is {}, expected {}", where(program, number),
           node.outputs[i].index, to_string(type), to_string(types[i]));
  }
}

void verify_given(VerifyState& state, std::uint32_t number, ValueId id) {
  const Program& program = state.program;
  if (state.given_by[place(id)] != 0)
    fail(ErrorKind::invalid, "verify P3: {}: gives value {}, which op {} gave",
         where(program, number), id.index, state.given_by[place(id)]);
  if (program.at(id).producer.index != number)
    fail(ErrorKind::invalid, "verify P3: {}: gives value {}, whose producer is {}",
         where(program, number), id.index, program.at(id).producer.index);
  state.given_by[place(id)] = number;
}

void verify_write(VerifyState& state, std::uint32_t number, BufferId id) {
  const Program& program = state.program;
  const Buffer& buffer = program.at(id);
  const Phase phase = program.ops[number - 1].phase;
  const bool fixed = buffer.role == Role::input || buffer.role == Role::constant ||
                     (buffer.role == Role::parameter && phase != Phase::update);
  if (fixed)
    fail(ErrorKind::invalid, "verify P8: {}: writes buffer '{}', which is {} in phase {}",
         where(program, number), buffer.name, name(buffer.role), name(phase));
  ++state.write_count[place(id)];
  if (buffer.role == Role::output && state.write_count[place(id)] > 1)
    fail(ErrorKind::invalid, "verify P9: {}: writes output '{}' again", where(program, number),
         buffer.name);
  std::uint32_t& forward = state.forward_write[place(id)];
  if (buffer.role == Role::state && phase == Phase::forward && forward == 0) forward = number;
}

void verify_tie(VerifyState& state, std::uint32_t number, const Tie& tie) {
  const Program& program = state.program;
  const OpNode& node = program.ops[number - 1];
  const ValueId from = node.inputs[static_cast<std::size_t>(tie.input)].value;
  const ValueId to = node.outputs[static_cast<std::size_t>(tie.output)];
  const Value& input = program.at(from);
  const Value& output = program.at(to);
  if (output.buffer != input.buffer || (input.buffer && output.version != input.version + 1))
    fail(ErrorKind::invalid, "verify P6: {}: value {} is not the next version of value {}",
         where(program, number), to.index, from.index);
  if (std::ranges::count(node.inputs, from, &Operand::value) > 1)
    fail(ErrorKind::invalid, "verify P7: {}: reads value {} twice and updates it",
         where(program, number), from.index);
  const std::uint32_t reader = state.latest_read[place(from)];
  if (program.ops[reader - 1].phase > node.phase)
    fail(ErrorKind::invalid,
         "verify P11: {}: is of phase {} and updates value {}, which op {} of "
         "phase {} reads",
         where(program, number), name(node.phase), from.index, reader,
         name(program.ops[reader - 1].phase));
  state.updated_by[place(from)] = number;
}

void verify_outputs(VerifyState& state, std::uint32_t number) {
  const Program& program = state.program;
  const OpNode& node = program.ops[number - 1];
  std::vector<bool> tied(node.outputs.size());
  for (const Tie& tie : traits(node.op).ties) {
    tied[static_cast<std::size_t>(tie.output)] = true;
    verify_tie(state, number, tie);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    const Value& value = program.at(id);
    verify_given(state, number, id);
    if (value.buffer) verify_write(state, number, value.buffer);
    const bool first =
        value.buffer && program.at(value.buffer).role == Role::output && value.version == 1;
    if (value.buffer && !tied[i] && !first)
      fail(ErrorKind::invalid, "verify P6: {}: value {} is version {} of buffer '{}', but no tie",
           where(program, number), id.index, value.version, program.at(value.buffer).name);
  }
}

void note_gradient_uses(VerifyState& state, std::uint32_t number) {
  const OpNode& node = state.program.ops[number - 1];
  if (node.phase != Phase::input_grad && node.phase != Phase::weight_grad) return;
  for (const Operand& operand : node.inputs) {
    const BufferId buffer = state.program.at(operand.value).buffer;
    if (buffer && state.gradient_use[place(buffer)] == 0)
      state.gradient_use[place(buffer)] = number;
  }
}

void verify_gate(VerifyState& state, std::uint32_t number) {
  const Program& program = state.program;
  const OpNode& node = program.ops[number - 1];
  verify_read(state, number, {.value = node.gate});
  if (program.at(node.gate).type != TensorType(Kind::bool8, {}))
    fail(ErrorKind::invalid, "verify P13: {}: its gate, value {}, is {}, expected bool8[]",
         where(program, number), node.gate.index, to_string(program.at(node.gate).type));
  if (traits(node.op).ties.size() != node.outputs.size())
    fail(ErrorKind::invalid, "verify P13: {}: has a gate and an output that is not tied",
         where(program, number));
}

void verify_op(VerifyState& state, std::uint32_t number) {
  for (const Operand& operand : state.program.ops[number - 1].inputs)
    verify_read(state, number, operand);
  if (state.program.ops[number - 1].gate) verify_gate(state, number);
  verify_types(state.program, number);
  verify_outputs(state, number);
  note_gradient_uses(state, number);
}

void verify_whole(const VerifyState& state) {
  const Program& program = state.program;
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    if (program.values[i].producer && state.given_by[i] == 0)
      fail(ErrorKind::invalid, "verify P3: value {}: its producer, {}, does not give it", i + 1,
           where(program, program.values[i].producer.index));
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.role == Role::output && state.write_count[i] != 1)
      fail(ErrorKind::invalid, "verify P9: output '{}': is never written", buffer.name);
    if (state.forward_write[i] != 0 && state.gradient_use[i] != 0)
      fail(ErrorKind::invalid, "verify P12: {}: names state '{}', which forward updates",
           where(program, state.gradient_use[i]), buffer.name);
  }
}

}  // namespace

void verify(const Program& program) {
  verify_ids(program);
  verify_buffers(program);
  verify_initial_values(program);
  const std::size_t values = program.values.size();
  const std::size_t buffers = program.buffers.size();
  VerifyState state{.program = program,
                    .given_by = std::vector<std::uint32_t>(values),
                    .updated_by = std::vector<std::uint32_t>(values),
                    .latest_read = std::vector<std::uint32_t>(values),
                    .write_count = std::vector<std::uint32_t>(buffers),
                    .forward_write = std::vector<std::uint32_t>(buffers),
                    .gradient_use = std::vector<std::uint32_t>(buffers)};
  for (std::uint32_t number = 1; number <= program.ops.size(); ++number) verify_op(state, number);
  verify_whole(state);
}

}  // namespace parhelion::ir
