#include "exec/cpu/kernels/update.h"

#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {
namespace {

/// What is updated, and its copy where that is a master.
template <class Update>
void bind_parameter(Update& args, const LaunchArgs& launch) {
  args.p = args.op.master ? launch.outputs.back() : launch.outputs.front();
  args.copy = args.op.master ? launch.out<BFloat16>(0) : nullptr;
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::AdamUpdate&) {
  return one_candidate("adam_update", [](const OpView& op, const Device& device) {
    const auto& update = std::get<ir::AdamUpdate>(op.node.op);
    const std::size_t tensors = ir::tensor_count(update);
    const AdamUpdate args{.op = update,
                          .kind = update.master ? ir::Kind::f32 : op.inputs[0].kind(),
                          .moment_kind = op.inputs[2].kind(),
                          .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      AdamUpdate bound = args;
      bind_parameter(bound, launch);
      bound.g = launch.in<float>(1);
      bound.m = launch.outputs[1];
      bound.v = launch.outputs[2];
      bound.v_max = args.op.amsgrad ? launch.outputs[3] : nullptr;
      bound.scale = launch.in<float>(tensors);
      bound.lr = launch.in<float>(tensors + 1);
      bound.correction = launch.in<float>(tensors + 2);
      bound.seed = launch.in<std::uint64_t>(tensors + 3);
      adam_update(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::SgdUpdate&) {
  return one_candidate("sgd_update", [](const OpView& op, const Device& device) {
    const auto& update = std::get<ir::SgdUpdate>(op.node.op);
    const std::size_t tensors = ir::tensor_count(update);
    const bool has_momentum = update.momentum != 0;
    const SgdUpdate args{.op = update,
                         .kind = update.master ? ir::Kind::f32 : op.inputs[0].kind(),
                         .momentum_kind = op.inputs[has_momentum ? 2 : 1].kind(),
                         .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      SgdUpdate bound = args;
      bind_parameter(bound, launch);
      bound.g = launch.in<float>(1);
      bound.b = has_momentum ? launch.outputs[1] : nullptr;
      bound.scale = launch.in<float>(tensors);
      bound.lr = launch.in<float>(tensors + 1);
      bound.gain = launch.in<float>(tensors + 2);
      bound.seed = launch.in<std::uint64_t>(tensors + 3);
      sgd_update(bound, device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
