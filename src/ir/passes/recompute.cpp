#include "ir/passes/recompute.h"

#include "ir/passes/relink.h"

#include <algorithm>
#include <map>
#include <set>

namespace parhelion::ir {
namespace {

bool is_gradient(Phase phase) { return phase == Phase::input_grad || phase == Phase::weight_grad; }

/// Forward ops whose results gradient ops of their own layer read, with all that those need inside
/// the layer.
class LayerClones {
 public:
  explicit LayerClones(Program& program) : program_(program) {}

  void need(ValueId value, std::int32_t layer) {
    const OpId producer = program_.at(value).producer;
    if (!producer || !may_clone(program_.at(producer), layer)) return;
    if (!ops_[layer].insert(producer).second) return;
    for (const Operand& input : program_.at(producer).inputs) need(input.value, layer);
  }

  /// Appends the layer's clones to `ops`.
  void emit(std::int32_t layer, std::vector<OpNode>& ops) {
    for (const OpId id : ops_[layer]) {
      OpNode clone = program_.at(id);
      clone.phase = Phase::input_grad;
      for (Operand& input : clone.inputs) input.value = renamed(input.value);
      for (ValueId& output : clone.outputs) output = fresh(output);
      ops.push_back(std::move(clone));
    }
  }

  ValueId renamed(ValueId value) const {
    const auto at = renamed_.find(value);
    return at == renamed_.end() ? value : at->second;
  }

 private:
  bool may_clone(const OpNode& node, std::int32_t layer) const {
    const Effect effect = traits(node.op).effect;
    return node.phase == Phase::forward && node.layer == layer && effect != Effect::state &&
           effect != Effect::collective;
  }

  ValueId fresh(ValueId value) {
    program_.values.push_back({.type = program_.at(value).type});
    const ValueId clone{static_cast<std::uint32_t>(program_.values.size())};
    renamed_[value] = clone;
    return clone;
  }

  Program& program_;
  std::map<std::int32_t, std::set<OpId>> ops_;  // by layer, in program order
  std::map<ValueId, ValueId> renamed_;
};

}  // namespace

void recompute(Program& program, Recompute policy) {
  if (policy == Recompute::none) return;
  LayerClones clones(program);
  for (const OpNode& node : program.ops) {
    if (!is_gradient(node.phase)) continue;
    for (const Operand& input : node.inputs) clones.need(input.value, node.layer);
  }
  std::vector<OpNode> ops;
  std::set<std::int32_t> begun;
  const std::vector<OpNode> old = std::move(program.ops);
  program.ops = old;  // clones read it while `ops` grows
  for (OpNode node : old) {
    if (is_gradient(node.phase)) {
      if (begun.insert(node.layer).second) clones.emit(node.layer, ops);
      for (Operand& input : node.inputs) input.value = clones.renamed(input.value);
    }
    ops.push_back(std::move(node));
  }
  program.ops = std::move(ops);
  relink(program);
}

}  // namespace parhelion::ir
