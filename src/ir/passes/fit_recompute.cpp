#include "ir/passes/fit_recompute.h"

#include "base/error.h"
#include "ir/memory_plan.h"
#include "ir/passes/extract_phases.h"
#include "ir/passes/fold_views.h"
#include "ir/passes/fuse.h"
#include "ir/passes/instantiate.h"
#include "ir/passes/recompute.h"
#include "ir/passes/recompute_order.h"

#include <algorithm>
#include <cmath>

namespace parhelion::ir {
namespace {

/// Rounded up to tenths, so that what is said to be enough is.
double mebibytes_of(std::int64_t bytes) {
  return std::ceil(static_cast<double>(bytes) / 0x1p20 * 10) / 10;
}

/// Tries how many groups must go.
class RecomputeSearch {
 public:
  RecomputeSearch(const Program& program, const Capacities& capacities)
      : program_(program),
        capacities_(capacities),
        groups_(recompute_order(instantiate(program, capacities))) {}

  std::int64_t group_count() const { return static_cast<std::int64_t>(groups_.size()); }

  std::vector<OpId> ops(std::int64_t count) const {
    std::vector<OpId> result;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<OpId>& group = groups_[static_cast<std::size_t>(i)];
      result.insert(result.end(), group.begin(), group.end());
    }
    std::ranges::sort(result);
    return result;
  }

  /// Planned as `lower` would and as a microbatch runs.
  std::int64_t activation_bytes(std::int64_t count) const {
    Program trial = program_;
    recompute(trial, ops(count));
    fuse(trial);
    fold_views(trial);
    const Program microbatch =
        extract_phases(instantiate(trial, capacities_),
                       {Phase::forward, Phase::input_grad, Phase::weight_grad}, trial.name);
    const MemoryPlan plan = plan_memory(microbatch);
    return plan.peak_bytes[static_cast<std::size_t>(ArenaKind::slot)] +
           plan.peak_bytes[static_cast<std::size_t>(ArenaKind::transient)];
  }

 private:
  const Program& program_;
  const Capacities& capacities_;
  std::vector<std::vector<OpId>> groups_;
};

}  // namespace

std::vector<OpId> fit_recompute(const Program& program, const Capacities& capacities,
                                ActivationBudget budget) {
  const RecomputeSearch search(program, capacities);
  std::int64_t enough = search.group_count();
  const std::int64_t least = search.activation_bytes(enough);
  if (least > budget.bytes)
    fail(ErrorKind::exhausted,
         "recompute: activations need {:.1f} MiB with all computed again that can be, {:.1f} MiB "
         "too many",
         mebibytes_of(least), mebibytes_of(least - budget.bytes));
  // Halving between fixed points: a larger budget takes the lower half wherever a smaller one does.
  for (std::int64_t too_few = -1; enough - too_few > 1;) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (search.activation_bytes(middle) <= budget.bytes ? enough : too_few) = middle;
  }
  return search.ops(enough);
}

}  // namespace parhelion::ir
