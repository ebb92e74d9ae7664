#include "ir/passes/recompute.h"

#include "base/error.h"
#include "ir/passes/relink.h"

#include <algorithm>
#include <set>

namespace parhelion::ir {
namespace {

bool is_gradient(Phase phase) { return phase == Phase::input_grad || phase == Phase::weight_grad; }

/// Families whose work grows faster than their operands.
bool multiplies_matrices(const Op& op) {
  return std::holds_alternative<MatMul>(op) || std::holds_alternative<GateUp>(op) ||
         std::holds_alternative<Attention>(op) || std::holds_alternative<PagedAttention>(op) ||
         std::holds_alternative<LinearCrossEntropy>(op) ||
         std::holds_alternative<LinearCrossEntropyStep>(op);
}

/// What a microbatch updates, so that an op run later would read something else.
class MovedValues {
 public:
  explicit MovedValues(const Program& program)
      : program_(program), value_(program.values.size() + 1), buffer_(program.buffers.size() + 1) {
    for (const OpNode& node : program.ops) {
      if (node.phase >= Phase::reduce) continue;
      for (const ValueId output : node.outputs) note_written(output);
      for (const Tie& tie : traits(node.op).ties)
        value_[node.inputs[static_cast<std::size_t>(tie.input)].value.index] = true;
    }
  }

  bool contains(ValueId value) const {
    return value_[value.index] || buffer_[program_.at(value).buffer.index];
  }

 private:
  void note_written(ValueId output) {
    const BufferId buffer = program_.at(output).buffer;
    if (buffer) buffer_[buffer.index] = true;
  }

  const Program& program_;
  std::vector<bool> value_;   // overwritten by a tied output
  std::vector<bool> buffer_;  // written
};

/// Forward ops which only cheap ops separate from what is kept: their results need nothing more.
std::vector<OpId> cheap_ops(const Program& program, const std::vector<bool>& possible) {
  std::vector<bool> available = read_by_gradients(program);
  for (std::uint32_t i = 1; i <= program.values.size(); ++i)
    if (program.at(ValueId{i}).buffer) available[i] = true;
  std::vector<OpId> result;
  for (std::uint32_t i = 1; i <= program.ops.size(); ++i) {
    const OpNode& node = program.at(OpId{i});
    const bool is_cheap = possible[i - 1] && !multiplies_matrices(node.op) &&
                          std::ranges::all_of(node.inputs, [&](const Operand& input) {
                            return available[input.value.index];
                          });
    if (!is_cheap) continue;
    for (const ValueId output : node.outputs) available[output.index] = true;
    result.push_back({i});
  }
  return result;
}

/// A program under rewriting. Its list of ops stays as it was until the new one is whole.
class Recomputation {
 public:
  Recomputation(Program& program, std::span<const OpId> ops)
      : program_(program),
        chosen_(program.ops.size() + 1),
        is_made_(program.ops.size() + 1),
        phase_(program.ops.size() + 1, kNotNeeded),
        renamed_(program.values.size() + 1) {
    for (const OpId id : ops) chosen_[id.index] = true;
  }

  void run() {
    for (const OpNode& node : program_.ops)
      if (is_gradient(node.phase)) need_clones(node, node.phase);
    std::vector<OpNode> ops;
    for (std::uint32_t i = 1; i <= program_.ops.size(); ++i) {
      OpNode node = program_.at(OpId{i});
      if (is_gradient(node.phase)) {
        add_clones(node, ops);
        rename(node);
      }
      ops.push_back(std::move(node));
    }
    drop_unread(ops);
    program_.ops = std::move(ops);
    relink(program_);
  }

 private:
  static constexpr Phase kNotNeeded = Phase::forward;  // no clone runs there

  /// The op that is cloned for a reader of `value`, or none.
  OpId cloned(ValueId value, const OpNode& reader) const {
    const OpId producer = program_.at(value).producer;
    const bool is_cloned =
        producer && chosen_[producer.index] && program_.at(producer).layer == reader.layer;
    return is_cloned ? producer : OpId{};
  }

  void need_clones(const OpNode& reader, Phase phase) {
    for (const Operand& input : reader.inputs) {
      const OpId producer = cloned(input.value, reader);
      if (!producer) continue;
      Phase& known = phase_[producer.index];
      if (known != kNotNeeded && known <= phase) continue;
      known = phase;
      need_clones(program_.at(producer), phase);
    }
  }

  /// Appends the clones that `reader` needs and that no op before it needed, in program order.
  void add_clones(const OpNode& reader, std::vector<OpNode>& ops) {
    std::set<OpId> missing;
    find_missing(reader, missing);
    for (const OpId id : missing) ops.push_back(clone_of(id));
  }

  void find_missing(const OpNode& reader, std::set<OpId>& missing) const {
    for (const Operand& input : reader.inputs) {
      const OpId producer = cloned(input.value, reader);
      if (producer && !is_made_[producer.index] && missing.insert(producer).second)
        find_missing(program_.at(producer), missing);
    }
  }

  OpNode clone_of(OpId id) {
    is_made_[id.index] = true;
    OpNode clone = program_.at(id);
    clone.phase = phase_[id.index];
    rename(clone);
    for (ValueId& output : clone.outputs) {
      program_.values.push_back({.type = program_.at(output).type});
      const ValueId fresh{static_cast<std::uint32_t>(program_.values.size())};
      renamed_[output.index] = fresh;
      output = fresh;
    }
    return clone;
  }

  void rename(OpNode& node) const {
    for (Operand& input : node.inputs)
      if (cloned(input.value, node)) input.value = renamed_[input.value.index];
  }

  /// Where only gradients read an op's results, its clone is the op moved: the first goes.
  void drop_unread(std::vector<OpNode>& ops) const {
    std::vector<bool> is_read(program_.values.size() + 1);
    std::vector<OpNode> kept;
    for (auto node = ops.rbegin(); node != ops.rend(); ++node) {
      if (is_unread_original(*node, is_read)) continue;
      for (const Operand& input : node->inputs) is_read[input.value.index] = true;
      is_read[node->gate.index] = true;
      kept.push_back(std::move(*node));
    }
    std::ranges::reverse(kept);
    ops = std::move(kept);
  }

  bool is_unread_original(const OpNode& node, const std::vector<bool>& is_read) const {
    return node.phase == Phase::forward &&
           std::ranges::all_of(node.outputs,
                               [&](ValueId output) { return !is_read[output.index]; }) &&
           std::ranges::any_of(node.outputs,
                               [&](ValueId output) { return bool(renamed_[output.index]); });
  }

  Program& program_;
  std::vector<bool> chosen_;      // by op
  std::vector<bool> is_made_;     // by op
  std::vector<Phase> phase_;      // of an op's clone
  std::vector<ValueId> renamed_;  // by value of the program as it was
};

}  // namespace

std::vector<bool> can_recompute(const Program& program) {
  const MovedValues moved(program);
  std::vector<bool> result;
  for (const OpNode& node : program.ops) {
    const Traits facts = traits(node.op);
    const bool has_effect = facts.effect == Effect::state || facts.effect == Effect::collective;
    const auto is_fixed = [&](const Operand& input) { return !moved.contains(input.value); };
    const auto is_activation = [&](ValueId output) { return !program.at(output).buffer; };
    result.push_back(node.phase == Phase::forward && !has_effect && facts.ties.empty() &&
                     std::ranges::all_of(node.inputs, is_fixed) &&
                     std::ranges::all_of(node.outputs, is_activation));
  }
  return result;
}

std::vector<bool> read_by_gradients(const Program& program) {
  std::vector<bool> result(program.values.size() + 1);
  for (const OpNode& node : program.ops) {
    if (!is_gradient(node.phase)) continue;
    for (const Operand& input : node.inputs)
      if (!program.at(input.value).buffer) result[input.value.index] = true;
  }
  return result;
}

std::vector<OpId> recomputed_ops(const Program& program, Recompute policy) {
  if (policy == Recompute::none) return {};
  const std::vector<bool> possible = can_recompute(program);
  if (policy == Recompute::selective) return cheap_ops(program, possible);
  std::vector<OpId> result;
  for (std::uint32_t i = 1; i <= program.ops.size(); ++i)
    if (possible[i - 1]) result.push_back({i});
  return result;
}

void recompute(Program& program, std::span<const OpId> ops) {
  const std::vector<bool> possible = can_recompute(program);
  for (const OpId id : ops) {
    if (!possible[id.index - 1])
      fail(ErrorKind::bug, "recompute: op {} {} cannot run again", id.index,
           traits(program.at(id).op).name);
  }
  if (!ops.empty()) Recomputation(program, ops).run();
}

void recompute(Program& program, Recompute policy) {
  recompute(program, recomputed_ops(program, policy));
}

}  // namespace parhelion::ir
