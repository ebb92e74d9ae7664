#include "ir/passes/lower.h"

#include "ir/passes/fold_views.h"
#include "ir/passes/fuse.h"
#include "ir/passes/fuse_loss.h"
#include "ir/passes/instantiate.h"
#include "ir/verify.h"

namespace parhelion::ir {

Program lower(Program program, const Capacities& capacities, Recompute policy) {
  verify(program);
  fuse_loss(program);  // before recompute, which would clone the loss for its log-sum-exp
  verify(program);
  recompute(program, policy);
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
