#include "exec/cuda/choose.h"

#include "base/error.h"

namespace parhelion::exec::cuda {
namespace {

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

std::string_view refusal_of(const Candidate& candidate, const OpView& op, const Device& device) {
  if (op.node.gate && !candidate.gated) return "has no gate";
  return candidate.refuses(op, device);
}

Choice choose(OpView op, const Device& device) {
  StepReport report;
  for (const Candidate& candidate : candidates(op.node.op)) {
    const std::string_view reason = refusal_of(candidate, op, device);
    if (reason.empty()) {
      report.kernel = candidate.name;
      report.numerics = candidate.numerics(op, device);
      return {.candidate = candidate, .ops = {std::move(op)}, .reports = {std::move(report)}};
    }
    report.refusals.push_back(fmt::format("{}: {}", candidate.name, reason));
  }
  fail(ErrorKind::unsupported, "cuda: no kernel accepts {}: {}", to_string(op.node.op),
       fmt::join(report.refusals, "; "));
}

/// Whether one kernel may run `next` after the ops of `group`.
bool joins(const Choice& group, const Choice& next) {
  const OpView& last = group.ops.back();
  const OpView& op = next.ops.front();
  return group.candidate.plan_group != nullptr && group.candidate.name == next.candidate.name &&
         last.node.op.index() == op.node.op.index() && last.node.gate == op.node.gate;
}

}  // namespace

std::vector<Choice> choose_candidates(const ir::Program& instance, Weights weights,
                                      const Device& device) {
  std::vector<Choice> result;
  for (std::size_t i = 0; i < instance.ops.size(); ++i) {
    Choice next = choose(view_of(instance, instance.ops[i], weights), device);
    if (!result.empty() && joins(result.back(), next)) {
      result.back().ops.push_back(std::move(next.ops.front()));
      result.back().reports.push_back(std::move(next.reports.front()));
      continue;
    }
    next.first = i;
    result.push_back(std::move(next));
  }
  return result;
}

}  // namespace parhelion::exec::cuda
