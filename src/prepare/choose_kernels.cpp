#include "prepare/choose_kernels.h"

#include "base/error.h"
#include "ir/passes/instantiate.h"

namespace parhelion::prepare {
namespace {

std::vector<contract::KernelChoice> kernels_of(const exec::Plan& plan) {
  std::vector<contract::KernelChoice> kernels;
  for (const exec::StepReport& step : plan.steps())
    kernels.push_back({.kernel = step.kernel, .numerics = step.numerics});
  return kernels;
}

/// Those that the view may only read.
std::vector<contract::InstancePlan>& plans_of_entry(contract::Contract& contract,
                                                    const contract::EntryView& entry) {
  if (entry.plans == &contract.plans) return contract.plans;
  if (entry.plans == &contract.embed_plans) return contract.embed_plans;
  return entry.plans == &contract.edited_plans ? contract.edited_plans : contract.copy_plans;
}

}  // namespace

void choose_kernels(contract::Contract& contract, exec::Executor& executor,
                    const std::function<bool()>& is_wanted) {
  for (const contract::EntryView& entry : contract::entries(contract)) {
    std::vector<contract::InstancePlan>& plans = plans_of_entry(contract, entry);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      ensure(is_wanted(), ErrorKind::invalid, "stopped while planning");
      const ir::Program instance = ir::instantiate(*entry.program, entry.instances[i]);
      plans[i].kernels = kernels_of(*executor.plan(instance, exec::Weights::frozen));
    }
  }
}

}  // namespace parhelion::prepare
