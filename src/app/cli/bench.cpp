#include "app/cli/command.h"
#include "app/level_table.h"
#include "app/model_files.h"
#include "app/serving_bench.h"
#include "app/weights.h"
#include "base/bf16.h"
#include "base/json.h"
#include "base/random.h"
#include "exec/roofline.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace parhelion::app {
namespace {

constexpr float kDrawnDeviation = 0.02f;
constexpr std::size_t kDrawnCount = 1 << 16;
constexpr const char* kAllNumerics = "all";

/// Gives every parameter the same drawn numbers again and again: timing needs no others, and large
/// models have billions.
void upload_drawn_weights(exec::Executor& executor) {
  std::vector<float> drawn(kDrawnCount);
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = kDrawnDeviation * normal(1, 2, i);
  std::vector<BFloat16> rounded(kDrawnCount);
  std::ranges::transform(drawn, rounded.begin(), to_bfloat16);
  for (const ir::Buffer& buffer : executor.parameters()) {
    const bool is_f32 = buffer.type.kind() == ir::Kind::f32;
    const auto source =
        is_f32 ? std::as_bytes(std::span(drawn)) : std::as_bytes(std::span(rounded));
    executor.upload(buffer.name, [&](std::span<std::byte> out) {
      for (std::size_t at = 0; at < out.size(); at += source.size())
        std::ranges::copy(source.first(std::min(source.size(), out.size() - at)), &out[at]);
    });
  }
}

struct BenchOptions {
  RunOptions run;
  ServingBench bench{.batches = {1, 8}, .contexts = {128, 1024}, .prompts = {512}};
  bool draws_weights = false;
  bool json = false;
};

Json as_json(const NamedSeconds& seconds) { return Json::Object(seconds.begin(), seconds.end()); }

Json as_json(const ServingTime& time, std::string_view numerics, double copy) {
  return Json::Object{{"phase", time.phase},
                      {"numerics", std::string(numerics)},
                      {"rows", time.rows},
                      {"context", time.context_tokens},
                      {"step_seconds", time.step_seconds},
                      {"device_seconds", time.device_seconds},
                      {"tokens_per_second", time.tokens_per_second},
                      {"floor_seconds", time.floor_bytes / copy},
                      {"share", time.floor_bytes / copy / time.step_seconds},
                      {"kernels", as_json(time.kernel_seconds)},
                      {"families", as_json(time.family_seconds)}};
}

std::string print_times(const std::vector<ServingTime>& times, double copy) {
  std::string text =
      fmt::format("{:<8} {:>5} {:>8} {:>10} {:>10} {:>12} {:>10} {:>7}\n", "phase", "rows",
                  "context", "ms/step", "device ms", "tokens/s", "floor ms", "share");
  for (const ServingTime& time : times) {
    const double floor = time.floor_bytes / copy;
    text += fmt::format("{:<8} {:>5} {:>8} {:>10.4f} {:>10.4f} {:>12.1f} {:>10.4f} {:>6.1f}%\n",
                        time.phase, time.rows, time.context_tokens, time.step_seconds * 1e3,
                        time.device_seconds * 1e3, time.tokens_per_second, floor * 1e3,
                        100 * floor / time.step_seconds);
    for (const auto& [kernel, seconds] : time.kernel_seconds)
      text += fmt::format("    {:<32} {:>10.4f} ms\n", kernel, seconds * 1e3);
  }
  return text;
}

std::vector<ServingTime> time_model(BenchOptions& options, exec::Executor& executor) {
  if (options.draws_weights) {
    options.bench.kind = options.run.dtype == "f32" ? ir::Kind::f32 : ir::Kind::bf16;
    return time_serving(model_of_config(options.run.model), options.bench, executor,
                        [&] { upload_drawn_weights(executor); });
  }
  const model::OpenedModel opened =
      open_with_adapter(resolve_model(options.run.model), options.run.adapter);
  options.bench.kind = kind_of(options.run, opened);
  return time_serving(opened.model, options.bench, executor,
                      [&] { upload_weights(opened, options.bench.kind, executor); });
}

/// What was timed, and the device's copies beside it.
struct BenchResult {
  std::string device;
  double copy = 0;
  std::vector<LevelTimes> levels;
};

void time_level(BenchOptions& options, const std::string& numerics, BenchResult& result) {
  options.run.executor.numerics = numerics;
  const auto executor = make_executor(options.run.executor);
  if (result.copy == 0) result.copy = exec::measure_copy_bandwidth(*executor);
  if (result.device.empty()) result.device = executor->describe();
  result.levels.push_back({.numerics = numerics, .times = time_model(options, *executor)});
}

void print_json(const BenchResult& result) {
  Json::Array lines;
  for (const LevelTimes& level : result.levels) {
    for (const ServingTime& time : level.times)
      lines.push_back(as_json(time, level.numerics, result.copy));
  }
  print(write_json(Json::Object{{"device", result.device},
                                {"copy_bytes_per_second", result.copy},
                                {"times", std::move(lines)}}) +
        "\n");
}

void run_bench(BenchOptions& options) {
  const bool compares = options.run.executor.numerics == kAllNumerics;
  if (compares) options.bench.profile = true;
  BenchResult result;
  for (const std::string& numerics :
       compares ? kNumerics : std::vector{options.run.executor.numerics})
    time_level(options, numerics, result);
  if (options.json) return print_json(result);
  print(fmt::format("device: {}; copies {:.1f} GB/s\n{}", result.device, result.copy / 1e9,
                    compares ? print_levels(result.levels)
                             : print_times(result.levels.front().times, result.copy)));
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Time prefill and decode of a model beside the time that its bytes alone take");
  std::vector<std::string> numerics = kNumerics;
  numerics.emplace_back(kAllNumerics);
  add_run_options(*command, options->run, numerics);
  command->add_option("--batch", options->bench.batches, "rows that decode at once")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--context", options->bench.contexts, "tokens that each row has")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--prompt", options->bench.prompts, "tokens of a prompt read in one step")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--steps", options->bench.steps, "steps to time, of each shape")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_flag("--random", options->draws_weights,
                    "draw the weights: MODEL is a config.json or a directory with one");
  command->add_flag("--profile", options->bench.profile,
                    "time the kernels of a step too; --numerics all compares op families");
  command->add_flag("--json", options->json, "write one JSON object");
  command->callback([options] { run_bench(*options); });
}

}  // namespace parhelion::app
