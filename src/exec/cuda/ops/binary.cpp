#include "exec/cuda/device_table.h"
#include "exec/cuda/kernels/elementwise.h"
#include "exec/cuda/kernels/scalars.h"
#include "exec/cuda/ops/families.h"

#include <algorithm>
#include <unordered_map>

namespace parhelion::exec::cuda {
namespace {

bool binary_is_product(const OpView& op) {
  return std::get<ir::Binary>(op.node.op).function == ir::BinaryFunction::multiply;
}

std::string_view refuses_arrays(const OpView& op, const Device&) {
  return op.inputs[0] == ir::TensorType(ir::Kind::f32, {}) ? "" : "is not f32[]";
}

/// Numbers which are added or multiplied one after the other, as a table of steps.
class ScalarKernel final : public Kernel {
 public:
  explicit ScalarKernel(std::span<const OpView> ops) {
    for (const OpView& op : ops) is_product_.push_back(binary_is_product(op));
  }

  void bind(const LaunchArgs& args) override {
    std::vector<ScalarStep> steps;
    for (std::int64_t first = 0; first < step_count(); first += kMostScalarSteps)
      add_steps(args, first, std::min(step_count(), first + kMostScalarSteps), steps);
    table_ = device_table<ScalarStep>(steps, args.stream);
  }

  void launch(const LaunchArgs& args) override {
    const auto* steps = reinterpret_cast<const ScalarStep*>(table_.data());
    for (std::int64_t first = 0; first < step_count(); first += kMostScalarSteps) {
      run_scalar_steps(steps + first, std::min(kMostScalarSteps, step_count() - first),
                       args.stream);
    }
  }

 private:
  std::int64_t step_count() const { return static_cast<std::int64_t>(is_product_.size()); }

  /// Steps [first, end), which one launch runs: it keeps results, since memory is read before.
  void add_steps(const LaunchArgs& args, std::int64_t first, std::int64_t end,
                 std::vector<ScalarStep>& steps) const {
    std::unordered_map<const float*, std::int16_t> made_by;
    const auto maker_of = [&](const float* x) {
      const auto at = made_by.find(x);
      return at == made_by.end() ? std::int16_t{-1} : at->second;
    };
    for (std::int64_t i = first; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ScalarStep step{.a = args.in<float>(2 * at),
                      .b = args.in<float>(2 * at + 1),
                      .y = args.out<float>(at),
                      .is_product = is_product_[at]};
      step.a_step = maker_of(step.a);
      step.b_step = maker_of(step.b);
      const std::int16_t before = maker_of(step.y);
      if (before >= 0) steps[static_cast<std::size_t>(first + before)].is_last = false;
      made_by[step.y] = static_cast<std::int16_t>(i - first);
      steps.push_back(step);
    }
  }

  std::vector<bool> is_product_;
  DeviceMemory table_;
};

std::unique_ptr<Kernel> plan_scalars(std::span<const OpView> ops, const Device&) {
  return std::make_unique<ScalarKernel>(ops);
}

std::unique_ptr<Kernel> plan_scalar(const OpView& op, const Device& device) {
  return plan_scalars({&op, 1}, device);
}

std::unique_ptr<Kernel> plan_binary(const OpView& op, const Device&) {
  const bool product = binary_is_product(op);
  const Binary args{.kind = op.inputs[0].kind(), .count = count_of(op.inputs[0])};
  return make_kernel(0, [=](const LaunchArgs& launch) {
    Binary bound = args;
    bound.a = launch.inputs[0];
    bound.b = launch.inputs[1];
    bound.y = launch.outputs[0];
    if (product) {
      multiply(bound, launch.stream);
    } else {
      add(bound, launch.stream);
    }
  });
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::Binary&) {
  std::vector<Candidate> result = one_candidate("binary.scalars", plan_scalar);
  result[0].refuses = refuses_arrays;
  result[0].plan_group = plan_scalars;
  result.push_back(one_candidate("binary", plan_binary)[0]);
  return result;
}

}  // namespace parhelion::exec::cuda
