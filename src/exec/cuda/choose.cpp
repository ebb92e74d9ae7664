#include "exec/cuda/choose.h"

#include "base/error.h"
#include "exec/cuda/fusion.h"

#include <iterator>
#include <limits>
#include <optional>

namespace parhelion::exec::cuda {
namespace {

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

/// Plans ops as one kernel where a fusion takes them.
class Fuser {
 public:
  Fuser(const ir::Program& instance, const ir::MemoryPlan& memory, Weights weights,
        const Device& device)
      : uses_(instance), memory_(memory), weights_(weights), device_(device) {}

  /// The fusion of ops from `first` on, if any takes them; `refusals` gets why others do not.
  std::optional<Choice> fused(std::size_t first, std::vector<std::string>& refusals) const {
    if (device_.fusions == Fusions::off) return std::nullopt;
    for (const Fusion& fusion : all_fusions()) {
      std::size_t count = fusion.match(uses_, first, std::numeric_limits<std::size_t>::max());
      for (; count > 1; count = fusion.match(uses_, first, count - 1)) {
        const std::vector<OpView> ops = views(first, count);
        const std::string_view reason = refusal_of_fusion(fusion, ops, first);
        if (reason.empty()) return choice_of(fusion, ops, first);
        refusals.push_back(fmt::format("{} of {}: {}", fusion.name, count, reason));
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<OpView> views(std::size_t first, std::size_t count) const {
    std::vector<OpView> result;
    for (std::size_t i = first; i < first + count; ++i)
      result.push_back(view_of(uses_.instance(), uses_.instance().ops[i], weights_));
    return result;
  }

  std::string_view refusal_of_fusion(const Fusion& fusion, std::span<const OpView> ops,
                                     std::size_t first) const {
    if (!fits_memory(fusion, uses_, memory_, first, ops.size()))
      return "an output lies where an input does";
    return fusion.refuses(ops, device_);
  }

  Choice choice_of(const Fusion& fusion, const std::vector<OpView>& ops, std::size_t first) const {
    Choice result{.candidate = {}, .first = first, .ops = ops, .reports = {}};
    result.candidate.name = fusion.name;
    result.candidate.plan_group = fusion.plan;
    for (const OpView& op : ops) {
      StepReport report;
      report.kernel = fusion.name;
      report.numerics = fusion.numerics != nullptr ? fusion.numerics(ops, device_)
                                                   : choose(op, device_).reports.front().numerics;
      result.reports.push_back(std::move(report));
    }
    return result;
  }

  Uses uses_;
  const ir::MemoryPlan& memory_;
  Weights weights_;
  const Device& device_;
};

}  // namespace

std::vector<Choice> choose_candidates(const ir::Program& instance, const ir::MemoryPlan& memory,
                                      Weights weights, const Device& device) {
  const Fuser fuser(instance, memory, weights, device);
  std::vector<Choice> result;
  for (std::size_t i = 0; i < instance.ops.size();) {
    std::vector<std::string> refusals;
    if (std::optional<Choice> fused = fuser.fused(i, refusals)) {
      i += fused->ops.size();
      result.push_back(std::move(*fused));
      continue;
    }
    Choice next = choose(view_of(instance, instance.ops[i], weights), device);
    next.first = i++;
    std::vector<std::string>& known = next.reports.front().refusals;
    known.insert(known.begin(), std::make_move_iterator(refusals.begin()),
                 std::make_move_iterator(refusals.end()));
    if (!result.empty() && joins(result.back(), next)) {
      result.back().ops.push_back(std::move(next.ops.front()));
      result.back().reports.push_back(std::move(next.reports.front()));
      continue;
    }
    result.push_back(std::move(next));
  }
  return result;
}

}  // namespace parhelion::exec::cuda
