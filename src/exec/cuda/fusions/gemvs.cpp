#include "exec/cuda/fusions/fusions.h"
#include "exec/cuda/kernels/gemv.h"
#include "exec/cuda/ops/gemv.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

std::size_t match_gemvs(const Uses& uses, std::size_t first, std::size_t most) {
  const auto* one = uses.find<ir::MatMul>(first);
  if (one == nullptr) return 0;
  std::size_t count = 1;
  for (; count < std::min(most, kMostGemvs); ++count) {
    const auto* next = uses.find<ir::MatMul>(first + count);
    if (next == nullptr || next->inputs[0] != one->inputs[0] || !(next->op == one->op)) break;
  }
  return count > 1 ? count : 0;
}

std::string_view refuses_gemvs(std::span<const OpView> ops, const Device& device) {
  const Candidate alone = gemv_of_mat_mul();
  for (const OpView& op : ops) {
    const std::string_view reason = alone.refuses(op, device);
    if (!reason.empty()) return reason;
  }
  return {};
}

std::unique_ptr<Kernel> plan_gemvs(std::span<const OpView> ops, const Device&) {
  std::vector<Gemv> args;
  for (const OpView& op : ops) {
    args.push_back(
        {.y_kind = op.outputs[0].kind(), .n = op.output_dim(0, 1), .k = op.input_dim(0, 1)});
  }
  return make_kernel(0, [args](const LaunchArgs& launch) mutable {
    for (std::size_t i = 0; i < args.size(); ++i) {
      args[i].x = launch.inputs[2 * i];
      args[i].weight = launch.inputs[2 * i + 1];
      args[i].y = launch.outputs[i];
    }
    gemvs(args, launch.stream);
  });
}

}  // namespace

Fusion gemvs_fusion() {
  return {.name = "gemvs",
          .match = match_gemvs,
          .refuses = refuses_gemvs,
          .in_place = [](const ir::OpNode&, std::size_t, const ir::OpNode&) { return false; },
          .numerics = nullptr,
          .plan = plan_gemvs};
}

}  // namespace parhelion::exec::cuda
