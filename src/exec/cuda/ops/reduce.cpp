#include "exec/cuda/kernels/reduce.h"

#include "exec/cuda/ops/families.h"

namespace parhelion::exec::cuda {
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
  return one_candidate("reduce", [](const OpView& op, const Device&) {
    const std::int64_t rows = count_of(op.outputs[0]);
    const Reduce args{.how = reduction_of(std::get<ir::Reduce>(op.node.op).function),
                      .rows = rows,
                      .cols = rows == 0 ? 0 : count_of(op.inputs[0]) / rows};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Reduce bound = args;
      bound.x = launch.in<float>(0);
      bound.y = launch.out<float>(0);
      reduce(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::AccumulateRows&) {
  std::vector<Candidate> result =
      one_candidate("accumulate_rows", [](const OpView& op, const Device&) {
        const AccumulateRows args{
            .kind = op.inputs[0].kind(), .rows = op.input_dim(0, 0), .cols = op.input_dim(0, 1)};
        const std::int64_t workspace = accumulate_rows_workspace(args.rows, args.cols);
        return make_kernel(workspace, [=](const LaunchArgs& launch) {
          AccumulateRows bound = args;
          bound.dy = launch.inputs[0];
          bound.acc = launch.out<float>(0);
          bound.gate = launch.gate;
          accumulate_rows(bound, launch.workspace, launch.stream);
        });
      });
  result[0].gated = true;
  return result;
}

}  // namespace parhelion::exec::cuda
