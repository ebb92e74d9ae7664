#pragma once

#include "exec/cuda/cuda_executor.h"
#include "ir/builder.h"
#include "ir/passes/lower.h"
#include "support/conformance/data.h"
#include "support/conformance/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::exec {

using ir::ValueId;
using Dims = std::vector<std::int64_t>;

/// A program with the content of its buffers. Operands are copies of inputs, so that the memory
/// plan gives their place away after their last reader.
class FusionProgram {
 public:
  FusionProgram() : builder(program) { program.name = "fusion"; }

  ValueId input(const test::Wide& content) {
    const std::string name = fmt::format("in{}", buffers.size());
    buffers[name] = content;
    return builder.input(name, content.type);
  }
  ValueId operand(const test::Wide& content) { return one(ir::Scale{1.0}, {input(content)}); }
  ValueId operand(ir::Kind kind, const Dims& dims) {
    return operand(test::normals(kind, dims, buffers.size() + 1));
  }
  ValueId weight(ir::Kind kind, std::int64_t columns) {
    return input(test::normals(kind, {columns}, buffers.size() + 1));
  }
  ValueId parameter(const test::Wide& content) {
    const std::string name = fmt::format("parameter{}", buffers.size());
    buffers[name] = content;
    return builder.parameter(name, content.type);
  }
  ValueId state(const test::Wide& content) {
    const std::string name = fmt::format("state{}", buffers.size());
    buffers[name] = content;
    return builder.state(name, content.type);
  }
  ValueId one(const ir::Op& op, const std::vector<ValueId>& inputs) {
    return builder.one(op, inputs);
  }
  void output(ValueId value) { builder.output(fmt::format("out{}", outputs_++), value); }

  ir::Program program;
  ir::Builder builder;
  test::NamedWide buffers;
  Numerics numerics = Numerics::exact;
  Weights weights = Weights::trained;

 private:
  int outputs_ = 0;
};

struct FusionRun {
  test::NamedWide results;
  std::vector<StepReport> steps;
};

inline FusionRun run_fusions(const FusionProgram& made, Fusions fusions) {
  const auto executor = make_cuda_executor(
      {.numerics = made.numerics, .checks = MemoryChecks::on, .fusions = fusions});
  const auto plan = executor->plan(ir::lower(made.program, {}), made.weights);
  FusionRun run{.results = test::run_instance(*executor, *plan, made.buffers), .steps = {}};
  run.steps.assign(plan->steps().begin(), plan->steps().end());
  return run;
}

inline std::ptrdiff_t ops_run_by(const FusionRun& run, std::string_view kernel) {
  return std::ranges::count(run.steps, kernel, &StepReport::kernel);
}

/// Expects that `fused_ops` ops run by the fusion and that every result and numerics stay.
inline void expect_fused(const FusionProgram& made, std::string_view fusion,
                         std::ptrdiff_t fused_ops) {
  const FusionRun alone = run_fusions(made, Fusions::off);
  const FusionRun fused = run_fusions(made, Fusions::on);
  EXPECT_EQ(ops_run_by(alone, fusion), 0);
  EXPECT_EQ(ops_run_by(fused, fusion), fused_ops);
  ASSERT_EQ(fused.steps.size(), alone.steps.size());
  for (std::size_t i = 0; i < alone.steps.size(); ++i)
    EXPECT_EQ(fused.steps[i].numerics, alone.steps[i].numerics) << "op " << i + 1;
  for (const auto& [name, expected] : alone.results)
    EXPECT_TRUE(test::same_bits(fused.results.at(name), expected)) << name;
}

}  // namespace parhelion::exec
