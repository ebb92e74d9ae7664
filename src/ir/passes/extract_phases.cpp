#include "ir/passes/extract_phases.h"

#include "base/error.h"

#include <vector>

namespace parhelion::ir {
namespace {

/// Copies ops into a new program and gives what they name new ids.
class PhaseExtraction {
 public:
  PhaseExtraction(const Program& source, std::string name)
      : source_(source),
        value_(source.values.size() + 1),
        buffer_(source.buffers.size() + 1),
        initial_(source.buffers.size() + 1) {
    result_.name = std::move(name);
    result_.labels = source.labels;
  }

  void take(const OpNode& node) {
    OpNode copy = node;
    for (Operand& input : copy.inputs) input.value = read(input.value, node);
    if (copy.gate) copy.gate = read(copy.gate, node);
    const OpId id{static_cast<std::uint32_t>(result_.ops.size() + 1)};
    for (ValueId& output : copy.outputs) output = give(output, id);
    result_.ops.push_back(std::move(copy));
  }

  Program finish() && { return std::move(result_); }

 private:
  ValueId read(ValueId value, const OpNode& node) {
    if (value_[value.index]) return value_[value.index];
    const Value& old = source_.at(value);
    if (!old.buffer)
      fail(ErrorKind::invalid,
           "extract phases: {} ({}) reads value {} of phase {}, expected phases that hold both",
           traits(node.op).name, source_.labels[node.label], value.index,
           ir::name(source_.at(old.producer).phase));
    // What other ops did to the buffer is its content from here on.
    initial_[old.buffer.index] = old.version;
    return add(value, {.type = old.type, .buffer = buffer(old.buffer)});
  }

  ValueId give(ValueId value, OpId producer) {
    Value made = source_.at(value);
    made.producer = producer;
    if (made.buffer) {
      made.version -= initial_[made.buffer.index];
      made.buffer = buffer(made.buffer);
    }
    return add(value, made);
  }

  ValueId add(ValueId old, Value value) {
    result_.values.push_back(std::move(value));
    value_[old.index] = {static_cast<std::uint32_t>(result_.values.size())};
    return value_[old.index];
  }

  BufferId buffer(BufferId old) {
    BufferId& known = buffer_[old.index];
    if (!known) {
      result_.buffers.push_back(source_.at(old));
      known = {static_cast<std::uint32_t>(result_.buffers.size())};
    }
    return known;
  }

  const Program& source_;
  Program result_;
  std::vector<ValueId> value_;          // by old value
  std::vector<BufferId> buffer_;        // by old buffer
  std::vector<std::uint32_t> initial_;  // by old buffer: the version that is 0 now
};

}  // namespace

Program extract_phases(const Program& program, const std::set<Phase>& phases, std::string name) {
  PhaseExtraction extraction(program, std::move(name));
  for (const OpNode& node : program.ops) {
    if (phases.contains(node.phase)) extraction.take(node);
  }
  return std::move(extraction).finish();
}

}  // namespace parhelion::ir
