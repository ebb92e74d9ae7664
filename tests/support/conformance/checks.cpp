#include "support/conformance/checks.h"

#include "support/conformance/parts.h"
#include "support/conformance/tolerance.h"
#include "support/reference/evaluate.h"

namespace parhelion::test {
namespace {

void expect_equal_outcomes(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.numerics, b.numerics);
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    EXPECT_TRUE(same_bits(a.outputs[i], b.outputs[i])) << "output " << i;
  }
}

/// A real output is as far off as the coarser of its own kind and what lies before it.
double bound_of(const Case& test, ir::Kind output) {
  const bool is_coarse_before = output == ir::Kind::f32 && test.between == ir::Kind::bf16;
  const double drawn = test.stochastic && output == ir::Kind::bf16 ? 0x1p-7 : 0;
  return tolerance(is_coarse_before ? test.between : output, test.terms) + drawn;
}

void expect_equal_part(const MakeExecutor& make, const Outcome& whole, const PartCase& part,
                       Across across) {
  const Outcome alone = run_case(make, part.test);
  if (across == Across::numerics_may_differ && alone.numerics != whole.numerics) return;
  EXPECT_EQ(alone.numerics, whole.numerics);
  for (std::size_t i = 0; i < alone.outputs.size(); ++i) {
    const auto dim = static_cast<std::size_t>(std::int64_t{part.output_dim[i]});
    EXPECT_TRUE(same_bits(alone.outputs[i], slice(whole.outputs[i], dim, part.part)))
        << "output " << i << ", dim " << dim << ", units " << part.part.begin << " to "
        << part.part.end << " of " << part.part.count;
  }
}

}  // namespace

void expect_reference(const MakeExecutor& make, const Case& test, double slack) {
  SCOPED_TRACE(test.name);
  const std::vector<Wide> expected = evaluate(test.op, test.inputs);
  const Outcome outcome = run_case(make, test);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ir::Kind kind = expected[i].kind();
    const double bound = bound_of(test, kind) + (kind == ir::Kind::bf16 ? slack : 0);
    EXPECT_TRUE(is_near(outcome.outputs[i], expected[i], bound))
        << "output " << i << " of kernel " << outcome.kernel;
  }
  if (test.weights.empty()) return;
  for (const exec::Weights weights : {exec::Weights::frozen, exec::Weights::trained}) {
    SCOPED_TRACE(weights == exec::Weights::frozen ? "frozen" : "trained");
    expect_equal_outcomes(run_case(make, test, {weights, WeightRole::parameter}), outcome);
  }
}

void expect_same_bits(const MakeExecutor& make, const MakeExecutor& other, const Case& test) {
  SCOPED_TRACE(test.name);
  expect_equal_outcomes(run_case(make, test), run_case(other, test));
}

void expect_equal_parts(const MakeExecutor& make, const Case& test, Across across) {
  SCOPED_TRACE(test.name);
  const Outcome whole = run_case(make, test);
  for (const PartCase& part : part_cases(test)) expect_equal_part(make, whole, part, across);
  for (const PartCase& part : prefix_cases(test)) expect_equal_part(make, whole, part, across);
}

}  // namespace parhelion::test
