#include "ir/cost_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace parhelion::ir {
namespace {

void add_cost(CostPart& part, const Cost& cost) {
  ++part.op_count;
  part.cost.flops += cost.flops;
  part.cost.bytes += cost.bytes;
}

bool costs_more(const CostPart& a, const CostPart& b) {
  return std::tie(a.cost.flops, a.cost.bytes) > std::tie(b.cost.flops, b.cost.bytes);
}

std::string cost_line(const CostPart& part) {
  return fmt::format("{:<28}{:>6}{:>16.6f}{:>16.6f}\n", part.name, part.op_count,
                     part.cost.flops * 1e-9, part.cost.bytes * 1e-6);
}

}  // namespace

CostSummary summarize_cost(const Program& instance) {
  CostSummary summary;
  summary.total.name = "all";
  for (std::size_t i = 0; i < kPhaseCount; ++i)
    summary.by_phase[i].name = name(static_cast<Phase>(i));
  std::map<std::uint16_t, CostPart> families;
  for (const OpNode& node : instance.ops) {
    const Traits facts = traits(node.op);
    const Cost work = cost(node.op, input_types(instance, node), output_types(instance, node));
    CostPart& family = families[facts.family];
    family.name = facts.name;
    add_cost(family, work);
    add_cost(summary.by_phase.at(static_cast<std::size_t>(node.phase)), work);
    add_cost(summary.total, work);
  }
  for (const auto& [id, part] : families) summary.by_family.push_back(part);
  std::ranges::stable_sort(summary.by_family, costs_more);
  return summary;
}

std::string print(const CostSummary& summary) {
  std::string text = fmt::format("{:<28}{:>6}{:>16}{:>16}\n", "cost", "ops", "GFLOP", "MB");
  for (const CostPart& part : summary.by_family) text += cost_line(part);
  for (const CostPart& part : summary.by_phase)
    if (part.op_count != 0) text += cost_line(part);
  return text + cost_line(summary.total);
}

}  // namespace parhelion::ir
