#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/step.h"
#include "exec/cpu/ops/families.h"

#include <cmath>

namespace parhelion::exec::cpu {

std::vector<Candidate> family_candidates(const ir::Scale&) {
  return one_candidate("scale", [](const OpView& op, const Device& device) {
    const auto factor = static_cast<float>(std::get<ir::Scale>(op.node.op).factor);
    const Unary args{.kind = op.inputs[0].kind(), .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Unary bound = args;
      bound.x = launch.inputs[0];
      bound.y = launch.outputs[0];
      scale(bound, factor, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Dropout&) {
  return one_candidate("dropout", [](const OpView& op, const Device& device) {
    const auto& dropped = std::get<ir::Dropout>(op.node.op);
    const Dropout args{
        .is_bf16 = op.inputs[0].kind() == ir::Kind::bf16,
        .count = count_of(op.inputs[0]),
        .tag = dropped.tag,
        .threshold = static_cast<std::int32_t>(std::lround(65536 * dropped.probability)),
        .factor = static_cast<float>(1 / (1 - dropped.probability))};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Dropout bound = args;
      bound.x = launch.inputs[0];
      bound.y = launch.outputs[0];
      dropout(bound, *launch.in<std::uint64_t>(1), device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
