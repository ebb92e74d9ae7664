#include "exec/cpu/kernels/elementwise.h"

#include "exec/cpu/kernels/page_write.h"
#include "exec/cpu/kernels/swiglu.h"
#include "exec/cpu/ops/families.h"

#include <algorithm>

namespace parhelion::exec::cpu {
namespace {

Swiglu swiglu_args(const OpView& op) {
  const std::int64_t columns = columns_of(op.inputs[0]);
  return {.kind = op.inputs[0].kind(),
          .rows = rows_of(op.inputs[0]),
          .cols = columns,
          .gate_stride = columns,
          .up_stride = columns};
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::Swiglu&) {
  return one_candidate("swiglu", [](const OpView& op, const Device& device) {
    return make_kernel(0, [args = swiglu_args(op), device](const LaunchArgs& launch) {
      Swiglu bound = args;
      bound.gate = launch.inputs[0];
      bound.up = launch.inputs[1];
      bound.y = launch.outputs[0];
      swiglu(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::SwigluGrad&) {
  return one_candidate("swiglu_grad", [](const OpView& op, const Device& device) {
    return make_kernel(0, [args = swiglu_args(op), device](const LaunchArgs& launch) {
      SwigluGrad bound{.forward = args};
      bound.forward.gate = launch.inputs[0];
      bound.forward.up = launch.inputs[1];
      bound.dy = launch.inputs[2];
      bound.d_gate = launch.outputs[0];
      bound.d_up = launch.outputs[1];
      swiglu_grad(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Binary&) {
  return one_candidate("binary", [](const OpView& op, const Device& device) {
    const bool product = std::get<ir::Binary>(op.node.op).function == ir::BinaryFunction::multiply;
    const Binary args{.kind = op.inputs[0].kind(), .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Binary bound = args;
      bound.a = launch.inputs[0];
      bound.b = launch.inputs[1];
      bound.y = launch.outputs[0];
      if (product) {
        multiply(bound, device.threads);
      } else {
        add(bound, device.threads);
      }
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Cast&) {
  return one_candidate("cast", [](const OpView& op, const Device& device) {
    const Cast args{
        .from = op.inputs[0].kind(), .to = op.outputs[0].kind(), .count = count_of(op.inputs[0])};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Cast bound = args;
      bound.x = launch.inputs[0];
      bound.y = launch.outputs[0];
      cast(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Fill&) {
  return one_candidate("fill", [](const OpView& op, const Device& device) {
    const auto value = static_cast<float>(std::get<ir::Fill>(op.node.op).value);
    const ir::Kind kind = op.outputs[0].kind();
    const std::int64_t count = count_of(op.outputs[0]);
    return make_kernel(0, [=](const LaunchArgs& launch) {
      fill(kind, value, launch.outputs[0], count, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Reshape&) {
  return one_candidate("reshape.copy", [](const OpView& op, const Device&) {
    const auto bytes = static_cast<std::size_t>(ir::byte_count(op.outputs[0]));
    return make_kernel(0, [=](const LaunchArgs& launch) {
      std::copy_n(launch.inputs[0], bytes, launch.outputs[0]);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::PageWrite&) {
  return one_candidate("page_write", [](const OpView& op, const Device& device) {
    const std::int64_t row = op.input_dim(0, 1) * op.input_dim(0, 2);
    const PageWrite args{.kind = op.inputs[0].kind(),
                         .tokens = op.input_dim(0, 0),
                         .row = row,
                         .x_stride = row,
                         .capacity = op.input_dim(2, 0) * op.input_dim(2, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      PageWrite bound = args;
      bound.x = launch.inputs[0];
      bound.location = launch.in<std::int64_t>(1);
      bound.pages = launch.outputs[0];
      page_write(bound, device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
