#include "exec/roofline.h"

#include "base/bf16.h"
#include "base/random.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

namespace parhelion::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCopyElements = std::int64_t{1} << 26;  // more than caches hold
constexpr std::int64_t kSmallestSide = 512;
constexpr std::int64_t kLargestSide = 8192;
constexpr double kLongProduct = 5e-3;  // seconds: a larger one is no faster
constexpr int kSmallOps = 256;
constexpr std::int64_t kSmallElements = 64;
constexpr int kMeasuredRuns = 5;
constexpr double kMeasuredSeconds = 0.5;

/// The least seconds that one of the ops [first, end) took.
double fastest_op(Plan& plan, std::size_t first, std::size_t end) {
  double best = std::numeric_limits<double>::infinity();
  const auto begin = Clock::now();
  for (int run = 0; run < kMeasuredRuns; ++run) {
    const std::vector<std::chrono::nanoseconds> times = plan.profile();
    for (std::size_t i = first; i < end; ++i)
      best = std::min(best, std::chrono::duration<double>(times[i]).count());
    if (std::chrono::duration<double>(Clock::now() - begin).count() > kMeasuredSeconds) break;
  }
  return best;
}

/// Zeros would need less power than numbers do, and so run faster.
void upload_numbers(Executor& executor, const std::string& name, ir::Kind kind) {
  std::vector<float> drawn(1 << 12);
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = normal(1, 2, i);
  std::vector<BFloat16> rounded;
  std::ranges::transform(drawn, std::back_inserter(rounded), to_bfloat16);
  const auto source =
      kind == ir::Kind::f32 ? std::as_bytes(std::span(drawn)) : std::as_bytes(std::span(rounded));
  executor.upload(name, [&](std::span<std::byte> out) {
    for (std::size_t at = 0; at < out.size(); at += source.size())
      std::ranges::copy(source.first(std::min(source.size(), out.size() - at)), &out[at]);
  });
}

/// Seconds of a product of two square matrices.
double time_product(Executor& executor, ir::Kind kind, std::int64_t side) {
  ir::Program program;
  program.name = "product";
  ir::Builder builder(program);
  const auto name_of = [&](const char* what) {
    return fmt::format("roofline.{}.{}.{}", what, ir::name(kind), side);
  };
  const ir::ValueId a = builder.state(name_of("a"), {kind, {side, side}});
  const ir::ValueId b = builder.parameter(name_of("b"), {kind, {side, side}});
  ir::ValueId y = builder.one(ir::MatMul{.transpose_b = true, .out = kind}, {a, b});
  if (kind != ir::Kind::f32) y = builder.one(ir::Cast{ir::Kind::f32}, {y});
  builder.output("sums", builder.one(ir::Reduce{ir::ReduceFunction::sum, 1}, {y}));
  const auto plan = executor.plan(ir::lower(program, {}), Weights::frozen);
  upload_numbers(executor, name_of("a"), kind);
  upload_numbers(executor, name_of("b"), kind);
  return fastest_op(*plan, 0, 1);
}

double product_rate(Executor& executor, ir::Kind kind) {
  double best = 0;
  double seconds = 0;
  for (std::int64_t side = kSmallestSide; side <= kLargestSide && seconds < kLongProduct;
       side *= 2) {
    seconds = time_product(executor, kind, side);
    const auto n = static_cast<double>(side);
    best = std::max(best, 2 * n * n * n / seconds);
  }
  return best;
}

/// Seconds of a launch in a program of small ones.
double launch_seconds(Executor& executor) {
  ir::Program program;
  program.name = "launches";
  ir::Builder builder(program);
  ir::ValueId x = builder.input("x", {ir::Kind::f32, {kSmallElements}});
  for (int i = 0; i < kSmallOps; ++i) x = builder.one(ir::Scale{1.0}, {x});
  builder.output("y", x);
  const auto plan = executor.plan(ir::lower(program, {}), Weights::frozen);
  std::int64_t launches = 0;
  for (const StepReport& step : plan->steps()) launches += step.launches;
  plan->run();
  const auto begin = Clock::now();
  for (int run = 0; run < kMeasuredRuns; ++run) plan->start();
  plan->wait();
  return std::chrono::duration<double>(Clock::now() - begin).count() /
         static_cast<double>(kMeasuredRuns * launches);
}

}  // namespace

double measure_copy_bandwidth(Executor& executor) {
  ir::Program program;
  program.name = "copy";
  ir::Builder builder(program);
  const ir::ValueId x = builder.state("copy.source", {ir::Kind::f32, {kCopyElements}});
  ir::ValueId y = builder.one(ir::Scale{1.0}, {x});
  for (int i = 0; i < 4; ++i) y = builder.one(ir::Scale{1.0}, {y});
  builder.output("sum", builder.one(ir::Reduce{ir::ReduceFunction::sum}, {y}));
  const auto plan = executor.plan(ir::lower(program, {}), Weights::frozen);
  return 2.0 * sizeof(float) * static_cast<double>(kCopyElements) / fastest_op(*plan, 1, 4);
}

Roofline measure_roofline(Executor& executor) {
  return {.bytes_per_second = measure_copy_bandwidth(executor),
          .f32_flops_per_second = product_rate(executor, ir::Kind::f32),
          .bf16_flops_per_second = product_rate(executor, ir::Kind::bf16),
          .launch_seconds = launch_seconds(executor)};
}

}  // namespace parhelion::exec
