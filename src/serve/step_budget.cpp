#include "serve/step_budget.h"

#include "serve/step_choice.h"

#include <algorithm>

namespace parhelion::serve {

StepBudget::StepBudget(std::span<const ir::Capacities> catalogue, Seconds target)
    : catalogue_(catalogue), target_(target), times_(catalogue.size(), Seconds(0)) {}

void StepBudget::learn(std::size_t instance, Seconds time) {
  constexpr double kNewShare = 0.2;
  Seconds& known = times_[instance];
  known = known == Seconds(0) ? time : (1 - kNewShare) * known + kNewShare * time;
}

/// A step takes no longer than one of fewer tokens does in proportion. So what an instance took
/// when the machine stood still does not keep it out for good: those that are used bound it.
StepBudget::Seconds StepBudget::expected(std::size_t instance) const {
  Seconds bound(0);
  Seconds larger(0);
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (times_[i] == Seconds(0)) continue;
    const auto ratio = static_cast<double>(catalogue_[instance][ir::Symbol::tokens]) /
                       static_cast<double>(catalogue_[i][ir::Symbol::tokens]);
    const Seconds scaled = times_[i] * ratio;
    if (ratio < 1) {
      larger = std::max(larger, scaled);
    } else {
      bound = bound == Seconds(0) ? scaled : std::min(bound, scaled);
    }
  }
  return bound == Seconds(0) ? larger : bound;
}

/// The target, or where decoding alone takes long, thrice its time: prompts get two thirds of it.
StepBudget::Seconds StepBudget::target_beside(std::int64_t decoding) const {
  for (std::size_t i = 0; i < catalogue_.size(); ++i) {
    const bool decodes =
        most_row_tokens(catalogue_[i]) == 1 && catalogue_[i][ir::Symbol::rows] >= decoding;
    if (decodes) return std::max(target_, 3 * times_[i]);
  }
  return target_;
}

std::int64_t StepBudget::tokens(std::int64_t decoding) const {
  const std::int64_t floor = decoding + std::max<std::int64_t>(1, decoding * 2 / 3);
  std::int64_t most = 0;
  std::int64_t least = 0;
  std::int64_t within = 0;
  const Seconds target = target_beside(decoding);
  for (std::size_t i = 0; i < catalogue_.size(); ++i) {
    if (most_row_tokens(catalogue_[i]) == 1) continue;
    const std::int64_t tokens = catalogue_[i][ir::Symbol::tokens];
    most = std::max(most, tokens);
    if (tokens >= floor && (least == 0 || tokens < least)) least = tokens;
    if (expected(i) <= target) within = std::max(within, tokens);
  }
  if (decoding == 0 || most == 0) return std::max<std::int64_t>(most, 1);
  return std::max(within, least == 0 ? most : least);
}

}  // namespace parhelion::serve
