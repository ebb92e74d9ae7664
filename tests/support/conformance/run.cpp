#include "support/conformance/run.h"

#include "ir/builder.h"
#include "ir/passes/lower.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace parhelion::test {
namespace {

void give_buffer(exec::Executor& executor, exec::Plan& plan, const ir::Buffer& buffer,
                 const NamedWide& buffers) {
  const auto at = buffers.find(buffer.name);
  if (buffer.role == ir::Role::input) {
    to_bytes(at->second, plan.host(buffer.name));
  } else if (at != buffers.end()) {
    executor.upload(buffer.name, [&](std::span<std::byte> bytes) { to_bytes(at->second, bytes); });
  } else if (buffer.role == ir::Role::state) {
    executor.clear(buffer.name);
  }
}

/// A case as a program, the content of its buffers, and the buffers that hold its outputs.
struct CaseProgram {
  ir::Program program;
  NamedWide buffers;
  std::vector<std::string> outputs;
};

bool is_tied(const ir::Op& op, std::size_t input) {
  return std::ranges::any_of(ir::traits(op).ties, [&](const ir::Tie& tie) {
    return static_cast<std::size_t>(tie.input) == input;
  });
}

CaseProgram case_program(const Case& test, WeightRole role) {
  CaseProgram made;
  made.program.name = test.name;
  ir::Builder builder(made.program);
  std::vector<ir::ValueId> operands;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    const ir::TensorType& type = test.inputs[i].type;
    const bool is_weight = std::ranges::find(test.weights, i) != test.weights.end();
    if (is_tied(test.op, i)) {
      operands.push_back(builder.state(name, type));
    } else if (is_weight && role == WeightRole::parameter) {
      operands.push_back(builder.parameter(name, type));
    } else {
      operands.push_back(builder.input(name, type));
    }
    made.buffers[name] = test.inputs[i];
  }
  const std::vector<ir::ValueId> outputs = builder.add(test.op, operands);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ir::BufferId tied = made.program.at(outputs[i]).buffer;
    made.outputs.push_back(tied ? made.program.at(tied).name : "out" + std::to_string(i));
    if (!tied) builder.output(made.outputs.back(), outputs[i]);
  }
  return made;
}

}  // namespace

NamedWide run_instance(exec::Executor& executor, exec::Plan& plan, const NamedWide& buffers) {
  const ir::Program& instance = plan.instance();
  for (const ir::Buffer& buffer : instance.buffers) give_buffer(executor, plan, buffer, buffers);
  plan.run();
  NamedWide result;
  for (const ir::Buffer& buffer : instance.buffers) {
    if (buffer.role == ir::Role::output) {
      result[buffer.name] = from_bytes(buffer.type, plan.host(buffer.name));
    } else if (buffer.role == ir::Role::state) {
      result[buffer.name] = from_bytes(buffer.type, executor.download(buffer.name));
    }
  }
  return result;
}

Outcome run_case(const MakeExecutor& make, const Case& test, const Way& way) {
  const CaseProgram made = case_program(test, way.role);
  const auto executor = make();
  const auto plan = executor->plan(ir::lower(made.program, {}), way.weights);
  NamedWide result = run_instance(*executor, *plan, made.buffers);
  const exec::StepReport& step = plan->steps().front();
  Outcome outcome{.kernel = step.kernel, .numerics = step.numerics, .outputs = {}};
  for (const std::string& name : made.outputs) outcome.outputs.push_back(std::move(result[name]));
  return outcome;
}

testing::AssertionResult same_bits(const Wide& a, const Wide& b) {
  if (a.type != b.type) {
    return testing::AssertionFailure()
           << "types are " << ir::to_string(a.type) << " and " << ir::to_string(b.type);
  }
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(a[i]) == std::bit_cast<std::uint64_t>(b[i])) continue;
    return testing::AssertionFailure()
           << "element " << i << " of " << a.size() << " is " << a[i] << " against " << b[i];
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult is_near(const Wide& actual, const Wide& expected, double bound) {
  if (actual.type != expected.type) {
    return testing::AssertionFailure()
           << "types are " << ir::to_string(actual.type) << " and " << ir::to_string(expected.type);
  }
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const double want = expected[i];
    const bool is_same = actual[i] == want || (std::isnan(actual[i]) && std::isnan(want));
    if (is_same || std::abs(actual[i] - want) <= bound * std::max(1.0, std::abs(want))) continue;
    return testing::AssertionFailure() << "element " << i << " of " << actual.size() << " is "
                                       << actual[i] << ", expected " << want << " within " << bound;
  }
  return testing::AssertionSuccess();
}

}  // namespace parhelion::test
