// Time of every pass over a decoder with gradients, and how near the memory plan is to its lower
// bound.
//   bench_passes LAYERS CONFIG.json
// Prints milliseconds, and for each arena its peak over its lower bound.

#include "base/file.h"
#include "base/json.h"
#include "ir/autodiff/differentiate.h"
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

void run(std::int64_t layers, const Json& config) {
  const model::Model model = model::find_recipe(config).from_config(with_layers(config, layers));
  const auto begin = Clock::now();
  model::TrainProgram train =
      timed("build", [&] { return model::build_train(model, ir::Kind::bf16); });
  timed("differentiate", [&] {
    ir::differentiate(train.program, train.total_loss);
    return 0;
  });
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = 4096;
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
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_passes LAYERS CONFIG.json\n");
    return 2;
  }
  parhelion::run(std::atoll(argv[1]),
                 parhelion::parse_json(parhelion::read_file(argv[2]), argv[2]));
  return 0;
}
