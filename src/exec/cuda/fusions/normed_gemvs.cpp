#include "exec/cuda/fusions/fusions.h"
#include "exec/cuda/kernels/normed_gemv.h"
#include "exec/cuda/ops/families.h"
#include "exec/cuda/ops/gemv.h"

#include <algorithm>

namespace parhelion::exec::cuda {
namespace {

bool is_row_norm(const ir::OpNode& node) {
  return std::holds_alternative<ir::AddRmsNorm>(node.op) ||
         std::holds_alternative<ir::RmsNorm>(node.op);
}

/// Products of `y` from op `first` on, at most `most`, that are alike but for their weights.
std::size_t count_products(const Uses& uses, ir::ValueId y, std::size_t first, std::size_t most) {
  const auto* one = uses.find<ir::MatMul>(first);
  std::size_t count = 0;
  for (; count < most; ++count) {
    const auto* next = uses.find<ir::MatMul>(first + count);
    if (next == nullptr || next->inputs[0].value != y) break;
    if (next->inputs[0] != one->inputs[0] || !(next->op == one->op)) break;
  }
  return count;
}

std::size_t match_normed_gemvs(const Uses& uses, std::size_t first, std::size_t most) {
  const auto* added = uses.find<ir::AddRmsNorm>(first);
  const auto* norm = added != nullptr ? added : uses.find<ir::RmsNorm>(first);
  if (most < 2 || norm == nullptr) return 0;
  const ir::ValueId y = norm->outputs.back();
  const auto* gate_up = uses.find<ir::GateUp>(first + 1);
  if (gate_up != nullptr && gate_up->inputs[0].value == y) return 2;
  const std::size_t count = count_products(uses, y, first + 1, std::min(most - 1, kMostGemvs));
  return count > 0 ? 1 + count : 0;
}

std::string_view refuses_row_norm(const OpView& norm) {
  for (const ir::TensorType& input : norm.inputs)
    if (input.kind() != ir::Kind::bf16) return "operands are not bf16";
  if (rows_of(norm.inputs[0]) != 1) return "there is not one row";
  if (!has_normed_gemv(columns_of(norm.inputs[0]))) return "a row does not lie in a block";
  return norm.frozen.back() ? "" : "the norm's weight is no frozen parameter";
}

std::string_view refuses_normed_gemvs(std::span<const OpView> ops, const Device& device) {
  const std::string_view of_norm = refuses_row_norm(ops[0]);
  if (!of_norm.empty()) return of_norm;
  for (const OpView& op : ops.subspan(1)) {
    const bool is_gate_up = std::holds_alternative<ir::GateUp>(op.node.op);
    const Candidate alone = is_gate_up ? gemv_of_gate_up() : gemv_of_mat_mul();
    const std::string_view reason = alone.refuses(op, device);
    if (!reason.empty()) return reason;
    if (op.input_dim(0, 1) != columns_of(ops[0].inputs[0])) return "rows are not the norm's";
  }
  return {};
}

/// Products take y from the norm of their own block, so where it is stored does not matter to them.
bool is_normed_row(const ir::OpNode& reader, std::size_t input, const ir::OpNode& writer) {
  return is_row_norm(writer) && !is_row_norm(reader) && input == 0;
}

/// The norm of a launch. It stores y though its products do not read it: others may, and y has
/// bytes of its own while they run.
NormedRow bound_norm(const NormedRow& norm, bool adds, const LaunchArgs& launch) {
  NormedRow bound = norm;
  bound.x = launch.inputs[0];
  bound.r = adds ? launch.inputs[1] : nullptr;
  bound.w = launch.inputs[adds ? 2 : 1];
  bound.s = adds ? launch.outputs[0] : nullptr;
  bound.y = launch.outputs[adds ? 1 : 0];
  return bound;
}

NormedRow norm_args(const OpView& op) {
  const auto* added = std::get_if<ir::AddRmsNorm>(&op.node.op);
  const double eps = added != nullptr ? added->eps : std::get<ir::RmsNorm>(op.node.op).eps;
  return {.k = columns_of(op.inputs[0]), .eps = static_cast<float>(eps)};
}

std::unique_ptr<Kernel> plan_normed_gate_up(std::span<const OpView> ops) {
  const bool adds = ops[0].inputs.size() == 3;
  const std::size_t input = first_input(ops, 1), output = first_output(ops, 1);
  const GateUpGemv args{.n = ops[1].output_dim(0, 1), .k = ops[1].input_dim(0, 1)};
  return make_kernel(0, [=, norm = norm_args(ops[0])](const LaunchArgs& launch) {
    GateUpGemv bound = args;
    bound.gate = launch.inputs[input + 1];
    bound.up = launch.inputs[input + 2];
    bound.y = launch.outputs[output];
    normed_gate_up_gemv(bound_norm(norm, adds, launch), bound, launch.stream);
  });
}

std::unique_ptr<Kernel> plan_normed_products(std::span<const OpView> ops) {
  const bool adds = ops[0].inputs.size() == 3;
  const std::size_t input = first_input(ops, 1), output = first_output(ops, 1);
  std::vector<Gemv> args;
  for (const OpView& op : ops.subspan(1)) {
    args.push_back(
        {.y_kind = op.outputs[0].kind(), .n = op.output_dim(0, 1), .k = op.input_dim(0, 1)});
  }
  return make_kernel(0, [=, norm = norm_args(ops[0])](const LaunchArgs& launch) mutable {
    for (std::size_t i = 0; i < args.size(); ++i) {
      args[i].weight = launch.inputs[input + 2 * i + 1];
      args[i].y = launch.outputs[output + i];
    }
    normed_gemvs(bound_norm(norm, adds, launch), args, launch.stream);
  });
}

std::unique_ptr<Kernel> plan_normed_gemvs(std::span<const OpView> ops, const Device&) {
  return std::holds_alternative<ir::GateUp>(ops[1].node.op) ? plan_normed_gate_up(ops)
                                                            : plan_normed_products(ops);
}

}  // namespace

Fusion normed_gemvs_fusion() {
  return {.name = "normed_gemvs",
          .match = match_normed_gemvs,
          .refuses = refuses_normed_gemvs,
          .in_place = is_normed_row,
          .numerics = nullptr,
          .plan = plan_normed_gemvs,
          .holds_inputs = true};
}

}  // namespace parhelion::exec::cuda
