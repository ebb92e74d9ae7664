#include "ir/passes/instantiate.h"

namespace parhelion::ir {

Program instantiate(const Program& program, const Capacities& capacities) {
  Program instance = program;
  for (Buffer& buffer : instance.buffers) {
    buffer.type.shape = evaluate(buffer.type.shape, capacities);
    if (buffer.init) buffer.init = evaluate(*buffer.init, capacities);
  }
  for (Value& value : instance.values) value.type.shape = evaluate(value.type.shape, capacities);
  for (OpNode& node : instance.ops) {
    node.op = evaluate(node.op, capacities);
    for (Operand& input : node.inputs) {
      if (input.shape) input.shape = evaluate(*input.shape, capacities);
    }
  }
  return instance;
}

}  // namespace parhelion::ir
