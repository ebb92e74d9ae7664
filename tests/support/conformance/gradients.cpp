#include "support/conformance/gradients.h"

#include "ir/autodiff/differentiate.h"
#include "ir/passes/fold_views.h"
#include "ir/passes/instantiate.h"
#include "ir/passes/lower.h"
#include "support/conformance/tolerance.h"
#include "support/reference/evaluate.h"

#include <algorithm>
#include <cmath>

namespace parhelion::test {
namespace {

constexpr double kStep = 1e-5;
constexpr std::int64_t kElementsOfAParameter = 10;

ir::Program differentiated(const LossProgram& made) {
  ir::Program program = made.program;
  ir::differentiate(program, made.loss);
  return program;
}

NamedWide run_program(const MakeExecutor& make, const ir::Program& instance,
                      const NamedWide& buffers) {
  const auto executor = make();
  const auto plan = executor->plan(instance, exec::Weights::trained);
  return run_instance(*executor, *plan, buffers);
}

double loss_at(const ir::Program& instance, const NamedWide& buffers) {
  return evaluate(instance, buffers).find("loss")->second[0];
}

double central_difference(const ir::Program& instance, NamedWide buffers, const std::string& name,
                          std::int64_t element) {
  double& number = buffers[name][element];
  const double at = number;
  number = at + kStep;
  const double after = loss_at(instance, buffers);
  number = at - kStep;
  return (after - loss_at(instance, buffers)) / (2 * kStep);
}

void expect_same_results(const NamedWide& a, const NamedWide& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    EXPECT_TRUE(same_bits(tensor, b.find(name)->second)) << name;
  }
}

}  // namespace

void expect_program_reference(const MakeExecutor& make, const FilledProgram& made) {
  SCOPED_TRACE(made.name);
  const ir::Program instance = ir::lower(made.program, made.capacities);
  const NamedWide expected = evaluate(instance, made.buffers);
  for (const auto& [name, actual] : run_program(make, instance, made.buffers)) {
    const double bound = tolerance(actual.kind(), made.terms);
    EXPECT_TRUE(is_near(actual, expected.find(name)->second, bound)) << name;
  }
}

void expect_gradients(const MakeExecutor& make, const LossProgram& made) {
  SCOPED_TRACE(made.name);
  const ir::Program forward = ir::lower(made.program, made.capacities);
  const NamedWide actual =
      run_program(make, ir::lower(differentiated(made), made.capacities), made.buffers);
  const double bound = tolerance(ir::Kind::f32, made.terms);
  const double loss = loss_at(forward, made.buffers);
  EXPECT_NEAR(actual.find("loss")->second[0], loss, bound * std::max(1.0, std::abs(loss)));
  for (const ir::Buffer& buffer : forward.buffers) {
    if (buffer.role != ir::Role::parameter || !buffer.trainable) continue;
    const Wide& gradient = actual.find(ir::gradient_name(buffer.name))->second;
    const std::int64_t stride = gradient.size() / kElementsOfAParameter + 1;
    for (std::int64_t i = 0; i < gradient.size(); i += stride) {
      const double want = central_difference(forward, made.buffers, buffer.name, i);
      EXPECT_NEAR(gradient[i], want, bound * std::max(1.0, std::abs(want)))
          << buffer.name << ", element " << i;
    }
  }
}

void expect_same_bits_of_passes(const MakeExecutor& make, const LossProgram& made) {
  SCOPED_TRACE(made.name);
  const ir::Program program = differentiated(made);
  const NamedWide kept = run_program(make, ir::lower(program, made.capacities), made.buffers);
  {
    SCOPED_TRACE("layers computed again");
    const ir::Program instance = ir::lower(program, made.capacities, ir::Recompute::layer);
    expect_same_results(kept, run_program(make, instance, made.buffers));
  }
  SCOPED_TRACE("not fused");
  ir::Program unfused = program;
  ir::fold_views(unfused);
  const ir::Program instance = ir::instantiate(unfused, made.capacities);
  expect_same_results(kept, run_program(make, instance, made.buffers));
}

}  // namespace parhelion::test
