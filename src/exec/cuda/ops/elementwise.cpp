#include "exec/cuda/kernels/elementwise.h"

#include "exec/cuda/kernels/dropout.h"
#include "exec/cuda/kernels/swiglu.h"
#include "exec/cuda/ops/families.h"

#include <cmath>

namespace parhelion::exec::cuda {

std::vector<Candidate> family_candidates(const ir::Swiglu&) {
  return one_candidate("swiglu", [](const OpView& op, const Device&) {
    const Swiglu args{.kind = op.inputs[0].kind(), .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Swiglu bound = args;
      bound.gate = launch.inputs[0];
      bound.up = launch.inputs[1];
      bound.y = launch.outputs[0];
      swiglu(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::SwigluGrad&) {
  return one_candidate("swiglu_grad", [](const OpView& op, const Device&) {
    const SwigluGrad args{.kind = op.inputs[0].kind(), .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      SwigluGrad bound = args;
      bound.gate = launch.inputs[0];
      bound.up = launch.inputs[1];
      bound.dy = launch.inputs[2];
      bound.d_gate = launch.outputs[0];
      bound.d_up = launch.outputs[1];
      swiglu_grad(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Cast&) {
  return one_candidate("cast", [](const OpView& op, const Device&) {
    const Cast args{
        .from = op.inputs[0].kind(), .to = op.outputs[0].kind(), .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Cast bound = args;
      bound.x = launch.inputs[0];
      bound.y = launch.outputs[0];
      cast(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Scale&) {
  return one_candidate("scale", [](const OpView& op, const Device&) {
    const Scale args{.kind = op.inputs[0].kind(),
                     .count = count_of(op.inputs[0]),
                     .factor = static_cast<float>(std::get<ir::Scale>(op.node.op).factor)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Scale bound = args;
      bound.x = launch.inputs[0];
      bound.y = launch.outputs[0];
      scale(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Dropout&) {
  return one_candidate("dropout", [](const OpView& op, const Device&) {
    const auto& dropped = std::get<ir::Dropout>(op.node.op);
    const Dropout args{
        .kind = op.inputs[0].kind(),
        .count = count_of(op.inputs[0]),
        .tag = dropped.tag,
        .threshold = static_cast<std::uint32_t>(std::lround(65536 * dropped.probability)),
        .factor = static_cast<float>(1 / (1 - dropped.probability))};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Dropout bound = args;
      bound.x = launch.inputs[0];
      bound.seed = launch.in<std::uint64_t>(1);
      bound.y = launch.outputs[0];
      dropout(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Fill&) {
  return one_candidate("fill", [](const OpView& op, const Device&) {
    const auto value = static_cast<float>(std::get<ir::Fill>(op.node.op).value);
    const ir::Kind kind = op.outputs[0].kind();
    const std::int64_t count = count_of(op.outputs[0]);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      fill(kind, value, launch.outputs[0], count, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Broadcast&) {
  return one_candidate("broadcast", [](const OpView& op, const Device&) {
    const std::int64_t rows = count_of(op.inputs[0]);
    const Broadcast args{.rows = rows,
                         .columns = rows == 0 ? 0 : count_of(op.outputs[0]) / rows,
                         .mean = std::get<ir::Broadcast>(op.node.op).mean};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Broadcast bound = args;
      bound.x = launch.in<float>(0);
      bound.y = launch.out<float>(0);
      broadcast(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Accumulate&) {
  std::vector<Candidate> result = one_candidate("accumulate", [](const OpView& op, const Device&) {
    const Accumulate args{.kind = op.inputs[0].kind(), .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Accumulate bound = args;
      bound.x = launch.inputs[0];
      bound.acc = launch.out<float>(0);
      bound.gate = launch.gate;
      accumulate(bound, launch.stream);
    });
  });
  result[0].gated = true;
  return result;
}

}  // namespace parhelion::exec::cuda
