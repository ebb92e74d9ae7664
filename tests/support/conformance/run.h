#pragma once

#include "exec/executor.h"
#include "support/conformance/cases.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace parhelion::test {

/// Makes a fresh executor of the kind under test.
using MakeExecutor = std::function<std::unique_ptr<exec::Executor>()>;

/// What a program holds the weights of a case as.
enum class WeightRole : std::uint8_t { input, parameter };

struct Way {
  exec::Weights weights = exec::Weights::trained;
  WeightRole role = WeightRole::input;
};

/// The outputs of a case in order, and how they were made.
struct Outcome {
  std::string kernel;
  std::string numerics;
  std::vector<Wide> outputs;
};

/// Runs an instance once. `buffers` gives inputs, parameters and state; state that it lacks is
/// cleared. The result has every output and state buffer.
NamedWide run_instance(exec::Executor& executor, exec::Plan& plan, const NamedWide& buffers);

/// Runs a case as a program of one op: operands are inputs, tied ones state, and results outputs.
Outcome run_case(const MakeExecutor& make, const Case& test, const Way& way = {});

/// True if all numbers have the same bits; the failure names the first that differs.
testing::AssertionResult same_bits(const Wide& a, const Wide& b);

/// True if each number is within `bound` of the expected one, relative to max(1, |expected|).
testing::AssertionResult is_near(const Wide& actual, const Wide& expected, double bound);

}  // namespace parhelion::test
