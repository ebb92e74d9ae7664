#include "ir/passes/lower.h"

#include "ir/passes/fold_views.h"
#include "ir/passes/fuse.h"
#include "ir/passes/fuse_loss.h"
#include "ir/passes/instantiate.h"
#include "ir/verify.h"

namespace parhelion::ir {
namespace {

std::vector<OpId> ops_of_policy(const Program& program, const Capacities& capacities,
                                const RecomputePolicy& policy) {
  if (const auto* budget = std::get_if<ActivationBudget>(&policy))
    return fit_recompute(program, capacities, *budget);
  return recomputed_ops(program, std::get<Recompute>(policy));
}

}  // namespace

Program lower(Program program, const Capacities& capacities, const RecomputePolicy& policy) {
  verify(program);
  fuse_loss(program);  // before recompute, which would clone the loss for its log-sum-exp
  verify(program);
  recompute(program, ops_of_policy(program, capacities, policy));
  verify(program);
  fuse(program);
  verify(program);
  fold_views(program);
  verify(program);
  Program instance = instantiate(program, capacities);
  verify(instance);
  return instance;
}

}  // namespace parhelion::ir
