// Time of every pass over a decoder with gradients, how near the memory plan is to its lower bound,
// and what recompute frees at which cost.
//   bench_passes LAYERS CONFIG.json [TOKENS]
// Prints milliseconds, for each arena its peak over its lower bound, and for each policy of
// recompute activations, ops and work.

#include "base/file.h"
#include "base/json.h"
#include "ir/autodiff/differentiate.h"
#include "ir/cost_summary.h"
#include "ir/memory_plan.h"
#include "ir/passes/lower.h"
#include "model/programs.h"
#include "model/recipes/registry.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace parhelion {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs `work` and prints how long it took.
template <class Work>
auto timed(const char* name, const Work& work) {
  const auto begin = Clock::now();
  auto result = work();
  std::printf("%-22s %8.1f ms\n", name,
              std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  return result;
}

Json with_layers(Json config, std::int64_t layers) {
  Json::Object object = config.as_object("config");
  for (Json::Member& member : object) {
    if (member.first == "num_hidden_layers") member.second = layers;
  }
  return object;
}

std::int64_t activation_bytes(const ir::MemoryPlan& plan) {
  return plan.peak_bytes[static_cast<std::size_t>(ir::ArenaKind::slot)] +
         plan.peak_bytes[static_cast<std::size_t>(ir::ArenaKind::transient)];
}

std::int64_t print_policy(const std::string& name, const ir::Program& train,
                          const ir::Capacities& capacities, const ir::RecomputePolicy& policy) {
  const auto begin = Clock::now();
  const ir::Program instance = ir::lower(train, capacities, policy);
  const double milliseconds =
      std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  const std::int64_t bytes = activation_bytes(ir::plan_memory(instance));
  const ir::CostPart total = ir::summarize_cost(instance).total;
  std::printf("%-22s %8.1f MiB, %6ld ops, %10.1f GFLOP, %10.1f GB, lowered in %.1f ms\n",
              name.c_str(), static_cast<double>(bytes) / (1 << 20), total.op_count,
              total.cost.flops / 1e9, total.cost.bytes / 1e9, milliseconds);
  return bytes;
}

/// Each rule, and budgets between the least and the most that they need.
void print_policies(const ir::Program& train, const ir::Capacities& capacities) {
  const std::int64_t most = print_policy("none", train, capacities, ir::Recompute::none);
  print_policy("selective", train, capacities, ir::Recompute::selective);
  const std::int64_t least = print_policy("layer", train, capacities, ir::Recompute::layer);
  for (const std::int64_t percent : {0, 5, 10, 25, 50, 75, 100}) {
    print_policy("budget at " + std::to_string(percent) + " %", train, capacities,
                 ir::ActivationBudget{least + (most - least) * percent / 100});
  }
}

void run(std::int64_t layers, const Json& config, std::int64_t tokens) {
  const model::Model model = model::find_recipe(config).from_config(with_layers(config, layers));
  const auto begin = Clock::now();
  model::TrainProgram train =
      timed("build", [&] { return model::build_train(model, ir::Kind::bf16); });
  timed("differentiate", [&] {
    ir::differentiate(train.program, train.total_loss);
    return 0;
  });
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = tokens;
  capacities[ir::Symbol::documents] = 8;
  const ir::Program instance = timed("lower, verified", [&] {
    return ir::lower(train.program, capacities, ir::Recompute::layer);
  });
  const ir::MemoryPlan plan = timed("plan_memory", [&] { return ir::plan_memory(instance); });
  timed("verify_memory", [&] {
    ir::verify_memory(instance, plan);
    return 0;
  });
  std::printf("%-22s %8.1f ms for %zu ops\n", "all",
              std::chrono::duration<double, std::milli>(Clock::now() - begin).count(),
              instance.ops.size());
  for (std::size_t i = 0; i < ir::kArenaCount; ++i) {
    const auto bound = static_cast<double>(plan.lower_bound_bytes[i]);
    std::printf("%-22s %8.3f of the lower bound of %.0f MiB\n",
                std::string(ir::name(static_cast<ir::ArenaKind>(i))).c_str(),
                static_cast<double>(plan.peak_bytes[i]) / bound, bound / (1 << 20));
  }
  print_policies(train.program, capacities);
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: bench_passes LAYERS CONFIG.json [TOKENS]\n");
    return 2;
  }
  parhelion::run(std::atoll(argv[1]), parhelion::parse_json(parhelion::read_file(argv[2]), argv[2]),
                 argc == 4 ? std::atoll(argv[3]) : 4096);
  return 0;
}
