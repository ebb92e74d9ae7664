// Forward and backward of a decoder in float32 or bf16, random weights.
//   bench_train_step BATCH TOKENS DTYPE THREADS RUNS CONFIG.json
// Prints one JSON object: median seconds, tokens/s, GFLOP/s by 6 * parameters * tokens, time by op
// family, planned memory.

#include "base/bf16.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/autodiff/differentiate.h"
#include "ir/passes/lower.h"
#include "model/programs.h"
#include "model/recipes/registry.h"

#include "family_times.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace parhelion {
namespace {

struct Setting {
  std::int64_t batch, tokens;
  ir::Kind kind;
  int threads, runs;
};

void fill_normal(const ir::Buffer& buffer, std::span<std::byte> out, std::uint64_t tag) {
  const bool norm = buffer.type.rank() == 1;
  const std::int64_t count = ir::element_count(buffer.type);
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = norm ? 1.0f : 0.02f * normal(1, tag, static_cast<std::uint64_t>(i));
    if (buffer.type.kind() == ir::Kind::f32) {
      reinterpret_cast<float*>(out.data())[i] = value;
    } else {
      reinterpret_cast<BFloat16*>(out.data())[i] = to_bfloat16(value);
    }
  }
}

void write_batch(exec::Plan& plan, const Setting& setting, std::int64_t vocabulary) {
  const auto ids = exec::host_span<std::int32_t>(plan, "token_ids");
  const auto labels = exec::host_span<std::int32_t>(plan, "labels");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>(philox(2, i, 0)[0] % static_cast<std::uint64_t>(vocabulary));
    labels[i] =
        static_cast<std::int32_t>(philox(3, i, 0)[0] % static_cast<std::uint64_t>(vocabulary));
    exec::host_span<std::int32_t>(plan, "positions")[i] =
        static_cast<std::int32_t>(static_cast<std::int64_t>(i) % setting.tokens);
  }
  const auto indptr = exec::host_span<std::int32_t>(plan, "document_indptr");
  for (std::size_t d = 0; d < indptr.size(); ++d)
    indptr[d] = static_cast<std::int32_t>(static_cast<std::int64_t>(d) * setting.tokens);
  std::ranges::fill(exec::host_span<float>(plan, "loss_weight"),
                    1.0f / static_cast<float>(ids.size()));
}

void run(const Setting& setting, const Json& config) {
  const model::Model model = model::find_recipe(config).from_config(config);
  model::TrainProgram train = model::build_train(model, setting.kind);
  ir::differentiate(train.program, train.total_loss);
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = setting.batch * setting.tokens;
  capacities[ir::Symbol::documents] = setting.batch;
  const auto executor = exec::make_cpu_executor({.threads = setting.threads});
  const auto plan = executor->plan(ir::lower(train.program, capacities), exec::Weights::trained);
  std::int64_t parameters = 0;
  for (const ir::Buffer& buffer : executor->parameters()) {
    parameters += ir::element_count(buffer.type);
    executor->upload(buffer.name, [&](std::span<std::byte> out) {
      fill_normal(buffer, out, static_cast<std::uint64_t>(parameters));
    });
  }
  write_batch(*plan, setting, model.vocabulary);
  plan->run();
  std::vector<double> seconds;
  for (int i = 0; i < setting.runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    plan->run();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(seconds);
  const double median = seconds[seconds.size() / 2];
  const auto tokens = static_cast<double>(setting.batch * setting.tokens);
  const auto& peak = plan->memory().peak_bytes;
  const auto& bound = plan->memory().lower_bound_bytes;
  const Json result =
      Json::Object{{"device", executor->describe()},
                   {"parameters", parameters},
                   {"median_seconds", median},
                   {"tokens_per_second", tokens / median},
                   {"gflops", 6e-9 * static_cast<double>(parameters) * tokens / median},
                   {"seconds_by_family", seconds_by_family(*plan)},
                   {"peak_bytes", peak[0] + peak[1] + peak[2]},
                   {"lower_bound_bytes", bound[0] + bound[1] + bound[2]}};
  std::printf("%s\n", write_json(result).c_str());
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: bench_train_step BATCH TOKENS f32|bf16 THREADS RUNS CONFIG.json\n");
    return 2;
  }
  using namespace parhelion;
  const Setting setting{std::atoll(argv[1]), std::atoll(argv[2]),
                        std::string_view(argv[3]) == "f32" ? ir::Kind::f32 : ir::Kind::bf16,
                        std::atoi(argv[4]), std::atoi(argv[5])};
  run(setting, parse_json(read_file(argv[6]), argv[6]));
  return 0;
}
