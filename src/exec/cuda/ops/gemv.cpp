#include "exec/cuda/ops/gemv.h"

#include "exec/cuda/kernels/gemv.h"
#include "exec/cuda/ops/families.h"

namespace parhelion::exec::cuda {
namespace {

constexpr std::int64_t kGemvPack = 8;  // bf16 numbers of 16 bytes

/// What both families ask of x: [1, k] and its weights: [n, k].
std::string_view refuses_gemv_operands(const OpView& op, const Device& device) {
  if (device.numerics != Numerics::fast) return "numerics are not fast";
  if (op.input_dim(0, 0) != 1) return "there is not one row";
  if (op.inputs[0].kind() != ir::Kind::bf16 || op.inputs[1].kind() != ir::Kind::bf16)
    return "operands are not bf16";
  if (op.input_dim(0, 1) % kGemvPack != 0) return "columns are no multiple of 8";
  return op.frozen[1] ? "" : "the weight is no frozen parameter";
}

std::string_view refuses_mat_mul_gemv(const OpView& op, const Device& device) {
  const auto& attributes = std::get<ir::MatMul>(op.node.op);
  if (attributes.transpose_a || !attributes.transpose_b) return "b is not transposed alone";
  if (attributes.bias || attributes.accumulate) return "there is more to add";
  return refuses_gemv_operands(op, device);
}

std::string_view refuses_gate_up_gemv(const OpView& op, const Device& device) {
  return op.frozen[2] ? refuses_gemv_operands(op, device) : "the weight is no frozen parameter";
}

std::unique_ptr<Kernel> plan_mat_mul_gemv(const OpView& op, const Device&) {
  const Gemv args{
      .y_kind = op.outputs[0].kind(), .n = op.output_dim(0, 1), .k = op.input_dim(0, 1)};
  return make_kernel(0, [=](const LaunchArgs& launch) {
    Gemv bound = args;
    bound.weight = launch.inputs[1];
    bound.x = launch.inputs[0];
    bound.y = launch.outputs[0];
    gemv(bound, launch.stream);
  });
}

std::unique_ptr<Kernel> plan_gate_up_gemv(const OpView& op, const Device&) {
  const GateUpGemv args{.n = op.output_dim(0, 1), .k = op.input_dim(0, 1)};
  return make_kernel(0, [=](const LaunchArgs& launch) {
    GateUpGemv bound = args;
    bound.gate = launch.inputs[1];
    bound.up = launch.inputs[2];
    bound.x = launch.inputs[0];
    bound.y = launch.outputs[0];
    gate_up_gemv(bound, launch.stream);
  });
}

std::string gemv_numerics(const OpView&, const Device&) { return "gemv"; }

}  // namespace

Candidate gemv_of_mat_mul() {
  return {.name = "matmul.gemv",
          .refuses = refuses_mat_mul_gemv,
          .numerics = gemv_numerics,
          .plan = plan_mat_mul_gemv};
}

Candidate gemv_of_gate_up() {
  return {.name = "gate_up.gemv",
          .refuses = refuses_gate_up_gemv,
          .numerics = gemv_numerics,
          .plan = plan_gate_up_gemv};
}

}  // namespace parhelion::exec::cuda
