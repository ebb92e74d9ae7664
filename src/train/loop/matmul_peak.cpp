#include "train/loop/matmul_peak.h"

#include "ir/builder.h"

#include <algorithm>
#include <chrono>

namespace parhelion::train {
namespace {

constexpr std::int64_t kPeakRows = 1024;
constexpr std::int64_t kPeakColumns = 768;

ir::Program peak_program(ir::Kind kind) {
  ir::Program program;
  program.name = "matmul_peak";
  ir::Builder builder(program);
  const ir::ValueId x = builder.input("x", {kind, {kPeakRows, kPeakColumns}});
  const ir::ValueId w = builder.input("w", {kind, {kPeakColumns, kPeakColumns}});
  builder.output("y", builder.one(ir::MatMul{.transpose_b = true, .out = kind}, {x, w}));
  return program;
}

}  // namespace

double measure_matmul_peak(exec::Executor& executor, ir::Kind kind) {
  using Clock = std::chrono::steady_clock;
  const auto plan = executor.plan(peak_program(kind), exec::Weights::trained);
  plan->run();  // touches the memory
  std::chrono::duration<double> best{1e9};
  // Long enough to outlast what else a busy machine runs for a moment.
  const auto end = Clock::now() + std::chrono::milliseconds(100);
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    plan->run();
    best = std::min<std::chrono::duration<double>>(best, Clock::now() - begin);
  }
  return 2.0 * kPeakRows * kPeakColumns * kPeakColumns / best.count();
}

}  // namespace parhelion::train
