#include "exec/cpu/kernels/reduce.h"

#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {
namespace {

Reduction reduction_of(ir::ReduceFunction function) {
  switch (function) {
    case ir::ReduceFunction::sum:
      return Reduction::sum;
    case ir::ReduceFunction::mean:
      return Reduction::mean;
    case ir::ReduceFunction::max:
      return Reduction::max;
  }
  return Reduction::sum;
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::Reduce&) {
  return one_candidate("reduce", [](const OpView& op, const Device& device) {
    const std::int64_t rows = count_of(op.outputs[0]);
    const Reduce args{.how = reduction_of(std::get<ir::Reduce>(op.node.op).function),
                      .rows = rows,
                      .cols = rows == 0 ? 0 : count_of(op.inputs[0]) / rows};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Reduce bound = args;
      bound.x = launch.inputs[0];
      bound.y = launch.outputs[0];
      reduce_last(bound, device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Broadcast&) {
  return one_candidate("broadcast", [](const OpView& op, const Device&) {
    const std::int64_t rows = count_of(op.inputs[0]);
    const std::int64_t columns = rows == 0 ? 0 : count_of(op.outputs[0]) / rows;
    const bool mean = std::get<ir::Broadcast>(op.node.op).mean;
    return make_kernel(0, [=](const LaunchArgs& launch) {
      const float* x = launch.in<float>(0);
      for (std::int64_t r = 0; r < rows; ++r) {
        const float value = mean ? x[r] / static_cast<float>(columns) : x[r];
        fill(ir::Kind::f32, value, launch.out<float>(0) + r * columns, columns, 1);
      }
    });
  });
}

std::vector<Candidate> family_candidates(const ir::AccumulateRows&) {
  return one_candidate("accumulate_rows", [](const OpView& op, const Device& device) {
    const Reduce args{
        .kind = op.inputs[0].kind(), .rows = op.input_dim(0, 0), .cols = op.input_dim(0, 1)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Reduce bound = args;
      bound.x = launch.inputs[0];
      accumulate_rows(bound, launch.out<float>(0), device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
