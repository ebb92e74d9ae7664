#include "ir/passes/fuse_loss.h"

#include "ir/passes/relink.h"

#include <algorithm>
#include <optional>
#include <set>

namespace parhelion::ir {
namespace {

/// A loss and its gradient, as places in the order of ops.
struct LossPair {
  std::size_t loss;
  std::size_t gradient;
};

/// The gradient of the loss at `place`, if its log-sum-exp is read by nothing else.
std::optional<LossPair> pair_of(const Program& program, std::size_t place) {
  const OpNode& loss = program.ops[place];
  std::optional<LossPair> result;
  for (std::size_t i = place + 1; i < program.ops.size(); ++i) {
    const OpNode& node = program.ops[i];
    for (std::size_t in = 0; in < node.inputs.size(); ++in) {
      if (node.inputs[in].value != loss.outputs[1]) continue;
      const bool is_gradient = std::holds_alternative<LinearCrossEntropyGrad>(node.op) && in == 3;
      const bool same_operands =
          is_gradient && std::equal(loss.inputs.begin(), loss.inputs.end(), node.inputs.begin());
      if (!same_operands || result) return std::nullopt;
      result = LossPair{place, i};
    }
  }
  return result;
}

/// Places of ops that depend on the loss, its gradient left out.
std::set<std::size_t> dependents(const Program& program, const LossPair& pair) {
  std::set<ValueId> reached(program.ops[pair.loss].outputs.begin(),
                            program.ops[pair.loss].outputs.end());
  std::set<std::size_t> result;
  for (std::size_t i = pair.loss + 1; i < program.ops.size(); ++i) {
    if (i == pair.gradient) continue;
    const OpNode& node = program.ops[i];
    const bool reads = std::ranges::any_of(
        node.inputs, [&](const Operand& input) { return reached.contains(input.value); });
    if (!reads && !reached.contains(node.gate)) continue;
    result.insert(i);
    reached.insert(node.outputs.begin(), node.outputs.end());
  }
  return result;
}

/// Whether the gradient reads something of the loss beside its log-sum-exp.
bool needs_loss(const Program& program, const LossPair& pair, const std::set<std::size_t>& behind) {
  const OpNode& gradient = program.ops[pair.gradient];
  for (std::size_t in = 0; in < gradient.inputs.size(); ++in) {
    const OpId producer = program.at(gradient.inputs[in].value).producer;
    if (in != 3 && producer && behind.contains(producer.index - 1)) return true;
  }
  return false;
}

OpNode fused_op(const Program& program, const LossPair& pair) {
  const OpNode& loss = program.ops[pair.loss];
  OpNode step = program.ops[pair.gradient];
  step.op = LinearCrossEntropyStep{std::get<LinearCrossEntropyGrad>(step.op).accumulate};
  step.inputs.erase(step.inputs.begin() + 3);  // the log-sum-exp
  step.outputs.insert(step.outputs.begin(), loss.outputs[0]);
  return step;
}

/// An op that reads the loss, which the gradient's phase gives now.
OpNode moved_behind(OpNode node, Phase gradient) {
  node.phase = std::max(node.phase, gradient);
  return node;
}

void apply(Program& program, const LossPair& pair, const std::set<std::size_t>& behind) {
  const Phase phase = program.ops[pair.gradient].phase;
  std::vector<OpNode> ops;
  for (std::size_t i = 0; i < pair.gradient; ++i) {
    if (i != pair.loss && !behind.contains(i)) ops.push_back(program.ops[i]);
  }
  ops.push_back(fused_op(program, pair));
  for (const std::size_t place : behind) {
    if (place < pair.gradient) ops.push_back(moved_behind(program.ops[place], phase));
  }
  for (std::size_t i = pair.gradient + 1; i < program.ops.size(); ++i)
    ops.push_back(behind.contains(i) ? moved_behind(program.ops[i], phase) : program.ops[i]);
  program.ops = std::move(ops);
  relink(program);
}

}  // namespace

void fuse_loss(Program& program) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (!std::holds_alternative<LinearCrossEntropy>(program.ops[i].op)) continue;
    const std::optional<LossPair> pair = pair_of(program, i);
    if (!pair) continue;
    const std::set<std::size_t> behind = dependents(program, *pair);
    if (!needs_loss(program, *pair, behind)) apply(program, *pair, behind);
  }
}

}  // namespace parhelion::ir
