#include "exec/cuda/kernels/rms_norm.h"

#include "exec/cuda/ops/families.h"

namespace parhelion::exec::cuda {
namespace {

RmsNorm rms_norm_args(const OpView& op, double eps) {
  return {.kind = op.inputs[0].kind(),
          .rows = rows_of(op.inputs[0]),
          .cols = columns_of(op.inputs[0]),
          .eps = static_cast<float>(eps)};
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::RmsNorm&) {
  return one_candidate("rms_norm", [](const OpView& op, const Device&) {
    return make_kernel(0, [args = rms_norm_args(op, std::get<ir::RmsNorm>(op.node.op).eps)](
                              const LaunchArgs& launch) {
      RmsNorm bound = args;
      bound.x = launch.inputs[0];
      bound.w = launch.inputs[1];
      bound.y = launch.outputs[0];
      rms_norm(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::AddRmsNorm&) {
  return one_candidate("add_rms_norm", [](const OpView& op, const Device&) {
    return make_kernel(0, [args = rms_norm_args(op, std::get<ir::AddRmsNorm>(op.node.op).eps)](
                              const LaunchArgs& launch) {
      AddRmsNorm bound{.norm = args};
      bound.norm.x = launch.inputs[0];
      bound.r = launch.inputs[1];
      bound.norm.w = launch.inputs[2];
      bound.s = launch.outputs[0];
      bound.norm.y = launch.outputs[1];
      add_rms_norm(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::RmsNormGradInput&) {
  return one_candidate("rms_norm_grad_input", [](const OpView& op, const Device&) {
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
      rms_norm_grad(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::RmsNormGradWeight&) {
  std::vector<Candidate> result =
      one_candidate("rms_norm_grad_weight", [](const OpView& op, const Device&) {
        const RmsNormWeightGrad args{
            .kind = op.inputs[0].kind(),
            .rows = rows_of(op.inputs[0]),
            .cols = columns_of(op.inputs[0]),
            .eps = static_cast<float>(std::get<ir::RmsNormGradWeight>(op.node.op).eps)};
        return make_kernel(rms_norm_weight_grad_workspace(args), [=](const LaunchArgs& launch) {
          RmsNormWeightGrad bound = args;
          bound.x = launch.inputs[0];
          bound.dy = launch.inputs[1];
          bound.acc = launch.out<float>(0);
          bound.gate = launch.gate;
          rms_norm_weight_grad(bound, launch.workspace, launch.stream);
        });
      });
  result[0].gated = true;
  return result;
}

}  // namespace parhelion::exec::cuda
