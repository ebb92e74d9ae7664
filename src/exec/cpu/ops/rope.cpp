#include "exec/cpu/kernels/rope.h"

#include "exec/cpu/kernels/rope_table.h"
#include "exec/cpu/ops/families.h"

namespace parhelion::exec::cpu {
namespace {

RopeScalingKind rope_scaling_kind(ir::RopeScaling scaling) {
  switch (scaling) {
    case ir::RopeScaling::none:
      return RopeScalingKind::none;
    case ir::RopeScaling::linear:
      return RopeScalingKind::linear;
    case ir::RopeScaling::by_wavelength:
      return RopeScalingKind::by_wavelength;
  }
  return RopeScalingKind::none;
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::RopeTable&) {
  return one_candidate("rope_table", [](const OpView& op, const Device& device) {
    const auto& attributes = std::get<ir::RopeTable>(op.node.op);
    const RopeTable args{
        .theta = attributes.theta,
        .d = attributes.dim,
        .max_position = attributes.positions,
        .scaling = {.kind = rope_scaling_kind(attributes.scaling),
                    .factor = static_cast<float>(attributes.factor),
                    .low_freq_factor = static_cast<float>(attributes.low_frequency),
                    .high_freq_factor = static_cast<float>(attributes.high_frequency),
                    .original_max_position = attributes.original_positions}};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      fill_rope_table(args, launch.out<float>(0), device.threads);
    });
  });
}

std::vector<Candidate> family_candidates(const ir::Rope&) {
  return one_candidate("rope", [](const OpView& op, const Device& device) {
    const bool inverse = std::get<ir::Rope>(op.node.op).inverse;
    const std::int64_t heads = op.input_dim(0, 1);
    const std::int64_t d = op.input_dim(0, 2);
    const Rope args{.kind = op.inputs[0].kind(),
                    .direction = inverse ? RopeDirection::inverse : RopeDirection::forward,
                    .tokens = op.input_dim(0, 0),
                    .heads = heads,
                    .d = d,
                    .max_position = op.input_dim(2, 0),
                    .x_stride = heads * d};
    return make_kernel(0, [=](const LaunchArgs& launch) {
      Rope bound = args;
      bound.x = launch.inputs[0];
      bound.positions = launch.in<std::int32_t>(1);
      bound.table = launch.in<float>(2);
      bound.y = launch.outputs[0];
      rope(bound, device.threads);
    });
  });
}

}  // namespace parhelion::exec::cpu
