#pragma once

#include "ir/id.h"
#include "ir/op.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::ir {

/// What a buffer is for.
enum class Role : std::uint8_t {
  input,      ///< written by the host before a run
  parameter,  ///< weights
  state,      ///< lives on between runs and is updated by them
  constant,   ///< made once by its `init`
  output,     ///< read by the host after a run
};
std::string_view name(Role role);

/// How long a buffer's content is meaningful.
enum class Lifetime : std::uint8_t { process, step, microbatch };
std::string_view name(Lifetime lifetime);

/// Storage that outlives one run. The name is its identity in every program, checkpoint and core.
struct Buffer {
  std::string name = {};
  TensorType type = {};
  Role role = Role::input;
  Lifetime lifetime = Lifetime::process;
  bool trainable = true;        ///< of parameters: `differentiate` gives it a gradient
  std::optional<Op> init = {};  ///< an op without inputs that makes a constant's content
  bool operator==(const Buffer&) const = default;
};

/// A tensor written once. With a buffer it is one version of that buffer's content, else an
/// activation.
struct Value {
  TensorType type = {};
  OpId producer = {};  ///< none: the content that a buffer has before the program runs
  BufferId buffer = {};
  std::uint32_t version = 0;
  bool operator==(const Value&) const = default;
};

/// A value as an op reads it; `shape` stands where a reshape was folded in.
struct Operand {
  ValueId value = {};
  std::optional<Shape> shape = {};
  bool operator==(const Operand&) const = default;
};

/// When an op runs: the first three once a microbatch, the last two once a step.
enum class Phase : std::uint8_t { forward, input_grad, weight_grad, reduce, update };
std::string_view name(Phase phase);

/// One op in its place.
struct OpNode {
  Op op = {};
  std::vector<Operand> inputs = {};
  std::vector<ValueId> outputs = {};
  ValueId gate =
      {};  ///< a bool8[]: where it is false at run time, the tied outputs keep their bytes
  Phase phase = Phase::forward;
  std::int32_t layer = 0;   ///< where stages may be cut; gradient ops inherit it
  std::uint32_t label = 0;  ///< index into the program's labels
  bool operator==(const OpNode&) const = default;
};

/// One entry of a model, before or after any pass. Ops stand in their one total order.
struct Program {
  std::string name = {};
  std::vector<Buffer> buffers;
  std::vector<Value> values;
  std::vector<OpNode> ops;
  std::vector<std::string> labels = {""};

  const Buffer& at(BufferId id) const { return buffers[id.index - 1]; }
  const Value& at(ValueId id) const { return values[id.index - 1]; }
  const OpNode& at(OpId id) const { return ops[id.index - 1]; }
  Buffer& at(BufferId id) { return buffers[id.index - 1]; }
  Value& at(ValueId id) { return values[id.index - 1]; }
  OpNode& at(OpId id) { return ops[id.index - 1]; }
  bool operator==(const Program&) const = default;
};

/// The buffer called `name`, or none.
BufferId find_buffer(const Program& program, std::string_view name);

/// The operand's type, its view applied.
TensorType operand_type(const Program& program, const Operand& operand);

/// Types of all inputs, or outputs, of an op.
std::vector<TensorType> input_types(const Program& program, const OpNode& node);
std::vector<TensorType> output_types(const Program& program, const OpNode& node);

}  // namespace parhelion::ir
