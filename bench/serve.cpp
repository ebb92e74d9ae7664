// Prefill and decode of one sequence through the serving engine.
//   bench_serve MODEL DTYPE THREADS PROMPT_TOKENS NEW_TOKENS RUNS [avx2]
// MODEL is a directory or GGUF file; avx2 holds every kernel down to that level. Prints one JSON
// object: median tokens/s of prefill and decode, bytes of the weights, time of one decode step.

#include "app/weights.h"
#include "base/json.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"

#include <hwy/targets.h>

#include "family_times.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace parhelion {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<std::int32_t> random_ids(std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int32_t>(philox(5, static_cast<std::uint64_t>(i), 0)[0] %
                                            static_cast<std::uint64_t>(vocabulary)));
  }
  return ids;
}

/// The widest level, or AVX2 for the matmul and for all kernels that Highway dispatches.
exec::CpuLevel hold_level(bool avx2) {
  if (!avx2) return exec::CpuLevel::widest;
  hwy::DisableTargets(HWY_AVX2 - 1);  // better targets have lower bits
  return exec::CpuLevel::avx2;
}

void run(const char* path, ir::Kind kind, const exec::CpuOptions& options, std::int64_t prompt,
         std::int64_t fresh, int runs) {
  const model::OpenedModel opened = model::open_model(path);
  const auto executor = exec::make_cpu_executor(options);
  contract::Contract contract = prepare::make_contract(
      opened.model, {.kind = kind,
                     .context_tokens = prompt + fresh,
                     .catalogue = {prepare::one_row(1, 1), prepare::one_row(prompt, 1)}});
  contract.stop_ids.clear();
  serve::Engine engine(std::move(contract), *executor, {.shares_prefixes = false});
  app::upload_weights(opened, kind, *executor);
  std::int64_t weight_bytes = 0;
  for (const ir::Buffer& buffer : executor->parameters())
    weight_bytes += ir::byte_count(buffer.type);
  const serve::Request request{.prompt = random_ids(prompt, opened.model.vocabulary),
                               .max_tokens = fresh,
                               .temperature = 0.0};
  std::vector<double> prefill;
  std::vector<double> decode;
  for (int i = 0; i <= runs; ++i) {
    const serve::Completion completion = serve::complete(engine, request, [](std::int32_t) {});
    if (i == 0) continue;  // the first touches the memory
    prefill.push_back(static_cast<double>(prompt) / completion.prefill.count());
    decode.push_back(static_cast<double>(completion.ids.size() - 1) / completion.decode.count());
  }
  const Json result = Json::Object{
      {"device", executor->describe()},
      {"prefill_tokens_per_second", median(prefill)},
      {"decode_tokens_per_second", median(decode)},
      {"weight_bytes", weight_bytes},
      {"decode_seconds_by_family", seconds_by_family(*engine.stepper().plans().front())}};
  std::printf("%s\n", write_json(result).c_str());
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  using namespace parhelion;
  const bool avx2 = argc == 8 && std::string_view(argv[7]) == "avx2";
  if (argc != 7 && !avx2) {
    std::fprintf(
        stderr, "usage: bench_serve MODEL f32|bf16 THREADS PROMPT_TOKENS NEW_TOKENS RUNS [avx2]\n");
    return 2;
  }
  const ir::Kind kind = std::string_view(argv[2]) == "f32" ? ir::Kind::f32 : ir::Kind::bf16;
  const exec::CpuOptions options{.threads = std::atoi(argv[3]), .level = hold_level(avx2)};
  run(argv[1], kind, options, std::atoll(argv[4]), std::atoll(argv[5]), std::atoi(argv[6]));
  return 0;
}
