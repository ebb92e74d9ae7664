#include "exec/cuda/kernels/rope.h"

#include "exec/cuda/ops/families.h"

namespace parhelion::exec::cuda {
namespace {

RopeTable rope_table_args(const ir::RopeTable& op) {
  const bool scaled = op.scaling != ir::RopeScaling::none;
  return {.theta = op.theta,
          .d = op.dim,
          .max_position = op.positions,
          .factor = scaled ? static_cast<float>(op.factor) : 1.0f,
          .by_wavelength = op.scaling == ir::RopeScaling::by_wavelength,
          .low_frequency = static_cast<float>(op.low_frequency),
          .high_frequency = static_cast<float>(op.high_frequency),
          .original = static_cast<float>(op.original_positions)};
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::RopeTable&) {
  return one_candidate("rope_table", [](const OpView& op, const Device&) {
    const RopeTable args = rope_table_args(std::get<ir::RopeTable>(op.node.op));
    return make_kernel(0, [=](const LaunchArgs& launch) {
      RopeTable bound = args;
      bound.table = launch.out<float>(0);
      fill_rope_table(bound, launch.stream);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Rope&) {
  return one_candidate("rope", [](const OpView& op, const Device&) {
    const Rope args{.kind = op.inputs[0].kind(),
                    .inverse = std::get<ir::Rope>(op.node.op).inverse,
                    .tokens = op.input_dim(0, 0),
                    .heads = op.input_dim(0, 1),
                    .d = op.input_dim(0, 2),
                    .max_position = op.input_dim(2, 0)};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Rope bound = args;
      bound.x = launch.inputs[0];
      bound.positions = launch.in<std::int32_t>(1);
      bound.table = launch.in<float>(2);
      bound.y = launch.outputs[0];
      rope(bound, launch.stream);
    });
  });
}

}  // namespace parhelion::exec::cuda
