#include "exec/cpu/kernels/step.h"

#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/ops/families.h"

#include <algorithm>
#include <cmath>

namespace parhelion::exec::cpu {
namespace {

struct StepSums {
  float loss_sum = 0;
  float weight = 0;
  float squared_norm = 0;
};

struct StepResult {
  float loss = 0;
  float norm = 0;
  float scale = 0;
  bool apply = false;
};

/// The formulas of ir::StepScale.
StepResult step_scale(const StepSums& sums, float max_norm) {
  if (sums.weight == 0) return {};
  StepResult result{.loss = sums.loss_sum / sums.weight,
                    .norm = std::sqrt(sums.squared_norm) / sums.weight};
  const float clip = max_norm == 0 ? 1.0f : std::min(1.0f, max_norm / (result.norm + 1e-6f));
  result.scale = clip / sums.weight;
  result.apply = sums.weight > 0 && std::isfinite(result.loss) && std::isfinite(result.norm);
  return result;
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::Accumulate&) {
  return one_candidate("accumulate", [](const OpView& op, const Device& device) {
    const ir::Kind kind = op.inputs[0].kind();
    const std::int64_t count = count_of(op.inputs[0]);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      accumulate(kind, launch.inputs[0], launch.out<float>(0), count, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Clear&) {
  return one_candidate("clear", [](const OpView& op, const Device& device) {
    const std::int64_t count = count_of(op.inputs[0]);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      fill(ir::Kind::f32, 0.0f, launch.outputs[0], count, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::SquaredNorm&) {
  return one_candidate("squared_norm", [](const OpView& op, const Device& device) {
    const std::int64_t count = count_of(op.inputs[0]);
    const auto bytes = squared_norm_blocks(count) * static_cast<std::int64_t>(sizeof(float));
    return make_kernel(aligned(bytes), [=](const LaunchArgs& launch) {
      *launch.out<float>(0) =
          squared_norm(launch.in<float>(0), count,
                       reinterpret_cast<float*>(launch.workspace.data()), device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::StepScale&) {
  return one_candidate("step_scale", [](const OpView& op, const Device&) {
    const auto max_norm = static_cast<float>(std::get<ir::StepScale>(op.node.op).max_norm);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      const StepResult result =
          step_scale({*launch.in<float>(0), *launch.in<float>(1), *launch.in<float>(2)}, max_norm);
      *launch.out<float>(0) = result.loss;
      *launch.out<float>(1) = result.norm;
      *launch.out<float>(2) = result.scale;
      *launch.out<bool>(3) = result.apply;
    });
  });
}

}  // namespace parhelion::exec::cpu
