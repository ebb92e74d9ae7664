#pragma once

#include "ir/program.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::ir {

inline constexpr std::size_t kPhaseCount = 5;

/// Work of some ops of a program.
struct CostPart {
  std::string_view name;
  std::int64_t op_count = 0;
  Cost cost = {};
};

/// Work of an instance: by family, most flops first (then bytes), and by phase.
struct CostSummary {
  std::vector<CostPart> by_family;
  std::array<CostPart, kPhaseCount> by_phase = {};
  CostPart total = {};
};

/// Adds up the cost of every op at its operands' types.
///
/// Errors: bug if a dim is symbolic.
CostSummary summarize_cost(const Program& instance);

/// A table: name, ops, GFLOP, MB, one line for each family, then each phase with ops, then all.
std::string print(const CostSummary& summary);

}  // namespace parhelion::ir
