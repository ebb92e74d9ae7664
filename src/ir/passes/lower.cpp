#include "ir/passes/lower.h"

#include "ir/passes/fold_views.h"
#include "ir/passes/fuse.h"
#include "ir/passes/instantiate.h"
#include "ir/verify.h"

namespace parhelion::ir {

Program lower(Program program, const Capacities& capacities, Recompute policy) {
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
