#include "exec/cpu/kernels/update.h"

#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {

std::vector<Candidate> family_candidates(const ir::AdamUpdate&) {
  return one_candidate("adam_update", [](const OpView& op, const Device& device) {
    const AdamUpdate args{.op = std::get<ir::AdamUpdate>(op.node.op),
                          .kind = op.inputs[0].kind(),
                          .moment_kind = op.inputs[2].kind(),
                          .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      AdamUpdate bound = args;
      bound.p = launch.outputs[0];
      bound.g = launch.in<float>(1);
      bound.m = launch.outputs[1];
      bound.v = launch.outputs[2];
      bound.scale = launch.in<float>(4);
      bound.lr = launch.in<float>(5);
      bound.correction = launch.in<float>(6);
      bound.seed = launch.in<std::uint64_t>(7);
      adam_update(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::SgdUpdate&) {
  return one_candidate("sgd_update", [](const OpView& op, const Device& device) {
    const auto& update = std::get<ir::SgdUpdate>(op.node.op);
    const std::size_t tensors = update.momentum == 0 ? 2 : 3;
    const SgdUpdate args{.op = update,
                         .kind = op.inputs[0].kind(),
                         .momentum_kind = op.inputs[tensors - 1].kind(),
                         .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      SgdUpdate bound = args;
      bound.p = launch.outputs[0];
      bound.g = launch.in<float>(1);
      bound.b = tensors == 3 ? launch.outputs[1] : nullptr;
      bound.scale = launch.in<float>(tensors);
      bound.lr = launch.in<float>(tensors + 1);
      bound.gain = launch.in<float>(tensors + 2);
      bound.seed = launch.in<std::uint64_t>(tensors + 3);
      sgd_update(bound, device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
