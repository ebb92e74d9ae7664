#include "train/loop/matmul_peak.h"

#include "base/bf16.h"
#include "base/random.h"
#include "ir/builder.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <string>

namespace parhelion::train {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// A product that suits a device.
struct PeakShape {
  std::string name;  ///< of its buffers
  std::int64_t rows, columns;

  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns * columns);
  }
};
const PeakShape kProcessorShape{.name = "matmul_peak", .rows = 1024, .columns = 768};
const PeakShape kAcceleratorShape{.name = "matmul_peak.large", .rows = 8192, .columns = 4096};
/// A device that is done with the first shape sooner is an accelerator.
constexpr Seconds kShortProduct{100e-6};

/// sum += x w^T, all on the device: nothing is copied between runs.
ir::Program peak_program(const PeakShape& shape, ir::Kind kind) {
  ir::Program program;
  program.name = shape.name;
  ir::Builder builder(program);
  const auto state = [&](const char* name, ir::Kind of, std::int64_t rows) {
    return builder.state(shape.name + name, {of, {rows, shape.columns}});
  };
  builder.one(ir::MatMul{.transpose_b = true, .accumulate = true, .out = ir::Kind::f32},
              {state(".x", kind, shape.rows), state(".w", kind, shape.columns),
               state(".sum", ir::Kind::f32, shape.rows)});
  return program;
}

/// Numbers that are not 0: a device may take less power, and so less time, for those.
void fill(exec::Executor& executor, const std::string& name, ir::Kind kind) {
  executor.upload(name, [&](std::span<std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 4) {
      const float value = static_cast<float>(philox(3, at, 0)[0] % 1024) / 512.0f - 1.0f;
      const std::uint32_t half = to_bfloat16(value).bits;
      const std::uint32_t word =
          kind == ir::Kind::f32 ? std::bit_cast<std::uint32_t>(value) : half << 16 | half;
      std::memcpy(&bytes[at], &word, sizeof word);
    }
  });
}

Seconds best_time(const PeakShape& shape, exec::Executor& executor, ir::Kind kind) {
  const auto plan = executor.plan(peak_program(shape, kind), exec::Weights::trained);
  for (const char* name : {".x", ".w"}) fill(executor, shape.name + name, kind);
  plan->run();  // touches the memory
  Seconds best{1e9};
  // Long enough to outlast what else a busy machine runs for a moment.
  const auto end = Clock::now() + std::chrono::milliseconds(100);
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    plan->run();
    best = std::min<Seconds>(best, Clock::now() - begin);
  }
  return best;
}

}  // namespace

double measure_matmul_peak(exec::Executor& executor, ir::Kind kind) {
  const Seconds small = best_time(kProcessorShape, executor, kind);
  if (small > kShortProduct) return kProcessorShape.flops() / small.count();
  return kAcceleratorShape.flops() / best_time(kAcceleratorShape, executor, kind).count();
}

}  // namespace parhelion::train
