#include "exec/cpu/kernels/rms_norm.h"

#include "exec/cpu/kernels/rms_norm_grad.h"
#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {
namespace {

RmsNorm rms_norm_args(const OpView& op, double eps) {
  return {.kind = op.inputs[0].kind(),
          .rows = rows_of(op.inputs[0]),
          .cols = columns_of(op.inputs[0]),
          .eps = static_cast<float>(eps)};
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::RmsNorm&) {
  return one_candidate("rms_norm", [](const OpView& op, const Device& device) {
    return make_kernel(0, [args = rms_norm_args(op, std::get<ir::RmsNorm>(op.node.op).eps),
                           device](const LaunchArgs& launch) {
      RmsNorm bound = args;
      bound.x = launch.inputs[0];
      bound.w = launch.inputs[1];
      bound.y = launch.outputs[0];
      rms_norm(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::AddRmsNorm&) {
  return one_candidate("add_rms_norm", [](const OpView& op, const Device& device) {
    return make_kernel(0, [args = rms_norm_args(op, std::get<ir::AddRmsNorm>(op.node.op).eps),
                           device](const LaunchArgs& launch) {
      AddRmsNorm bound{.norm = args};
      bound.norm.x = launch.inputs[0];
      bound.r = launch.inputs[1];
      bound.norm.w = launch.inputs[2];
      bound.s = launch.outputs[0];
      bound.norm.y = launch.outputs[1];
      add_rms_norm(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::RmsNormGradInput&) {
  return one_candidate("rms_norm_grad_input", [](const OpView& op, const Device& device) {
    const RmsNormGrad args{
        .kind = op.inputs[0].kind(),
        .rows = rows_of(op.inputs[0]),
        .cols = columns_of(op.inputs[0]),
        .eps = static_cast<float>(std::get<ir::RmsNormGradInput>(op.node.op).eps)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      RmsNormGrad bound = args;
      bound.x = launch.inputs[0];
      bound.w = launch.inputs[1];
      bound.dy = launch.inputs[2];
      bound.dx = launch.outputs[0];
      rms_norm_grad(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::RmsNormGradWeight&) {
  return one_candidate("rms_norm_grad_weight", [](const OpView& op, const Device& device) {
    const RmsNormWeightGrad args{
        .kind = op.inputs[0].kind(),
        .rows = rows_of(op.inputs[0]),
        .cols = columns_of(op.inputs[0]),
        .eps = static_cast<float>(std::get<ir::RmsNormGradWeight>(op.node.op).eps)};
    const auto scratch = static_cast<std::int64_t>(rms_norm_weight_grad_scratch_bytes(args.rows));
    return make_kernel(scratch, [=](const LaunchArgs& launch) {
      RmsNormWeightGrad bound = args;
      bound.x = launch.inputs[0];
      bound.dy = launch.inputs[1];
      bound.acc = launch.out<float>(0);
      rms_norm_weight_grad(bound, launch.workspace.data(), device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
