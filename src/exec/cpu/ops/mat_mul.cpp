#include "exec/cpu/kernels/swiglu.h"
#include "exec/cpu/ops/families.h"
#include "exec/cpu/ops/product.h"

namespace parhelion::exec::cpu {
namespace {

/// A product as `matmul` takes it, addresses missing.
MatmulArgs mat_mul_args(const OpView& op, const Device& device, bool packed) {
  const auto& attributes = std::get<ir::MatMul>(op.node.op);
  const std::int64_t m = op.output_dim(0, 0);
  const std::int64_t n = op.output_dim(0, 1);
  const std::int64_t k = op.input_dim(0, attributes.transpose_a ? 0 : 1);
  MatmulArgs args;
  args.a = {.kind = op.inputs[0].kind(),
            .rows = m,
            .cols = k,
            .row_stride = op.input_dim(0, 1),
            .transposed = attributes.transpose_a};
  if (packed) {
    args.b = PackedView{.kind = op.inputs[1].kind(), .k = k, .n = n};
  } else {
    args.b = MatrixView{.kind = op.inputs[1].kind(),
                        .rows = k,
                        .cols = n,
                        .row_stride = op.input_dim(1, 1),
                        .transposed = attributes.transpose_b};
  }
  args.c = {.kind = attributes.out,
            .row_stride = n,
            .mode = attributes.accumulate ? OutputMode::accumulate : OutputMode::assign};
  args.num_threads = device.threads;
  args.tier = device.tier;
  return args;
}

std::unique_ptr<Kernel> plan_mat_mul(const OpView& op, const Device& device, bool packed) {
  const MatmulArgs args = mat_mul_args(op, device, packed);
  const bool bias = std::get<ir::MatMul>(op.node.op).bias;
  const ir::Kind bias_kind = bias ? op.inputs[2].kind() : ir::Kind::f32;
  return make_kernel(product_workspace_bytes(args), [=](const LaunchArgs& launch) {
    MatmulArgs bound = args;
    if (bias) bound.bias = {.data = launch.inputs[2], .kind = bias_kind};
    run_product(bound, launch.inputs[0], launch.inputs[1], launch.outputs[0], launch.workspace);
  });
}

std::string_view refuses_packed_mat_mul(const OpView& op, const Device&) {
  const auto& attributes = std::get<ir::MatMul>(op.node.op);
  if (!op.frozen[1]) return "b is no frozen parameter";
  return attributes.transpose_b ? "" : "b is not transposed";
}

std::string_view refuses_packed_gate_up(const OpView& op, const Device&) {
  return op.frozen[1] && op.frozen[2] ? "" : "gate and up are no frozen parameters";
}

/// Both products into workspace, then their Swiglu.
std::unique_ptr<Kernel> plan_gate_up(const OpView& op, const Device& device, bool packed) {
  const ir::Kind kind = op.inputs[0].kind();
  const ir::OpNode product{.op = ir::MatMul{.transpose_b = true, .out = kind}};
  const OpView view{
      .node = product, .inputs = {op.inputs[0], op.inputs[1]}, .outputs = op.outputs, .frozen = {}};
  const MatmulArgs args = mat_mul_args(view, device, packed);
  const std::int64_t product_bytes = aligned(ir::byte_count(op.outputs[0]));
  const std::int64_t workspace = aligned(product_workspace_bytes(args));
  const std::int64_t n = op.output_dim(0, 1);
  const Swiglu swiglu_args{
      .kind = kind, .rows = op.output_dim(0, 0), .cols = n, .gate_stride = n, .up_stride = n};
  return make_kernel(workspace + 2 * product_bytes, [=](const LaunchArgs& launch) {
    std::byte* gate = launch.workspace.data() + workspace;
    std::byte* up = gate + product_bytes;
    const auto scratch = launch.workspace.first(static_cast<std::size_t>(workspace));
    run_product(args, launch.inputs[0], launch.inputs[1], gate, scratch);
    run_product(args, launch.inputs[0], launch.inputs[2], up, scratch);
    Swiglu last = swiglu_args;
    last.gate = gate;
    last.up = up;
    last.y = launch.outputs[0];
    swiglu(last, device.threads);
  });
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::MatMul&) {
  return {{.name = "matmul.packed",
           .refuses = refuses_packed_mat_mul,
           .numerics = product_numerics,
           .plan = [](const OpView& op,
                      const Device& device) { return plan_mat_mul(op, device, true); },
           .packed = {1}},
          {.name = "matmul",
           .refuses = never_refuses,
           .numerics = product_numerics,
           .plan = [](const OpView& op, const Device& device) {
             return plan_mat_mul(op, device, false);
           }}};
}

std::vector<Candidate> family_candidates(const ir::GateUp&) {
  return {{.name = "gate_up.packed",
           .refuses = refuses_packed_gate_up,
           .numerics = product_numerics,
           .plan = [](const OpView& op,
                      const Device& device) { return plan_gate_up(op, device, true); },
           .packed = {1, 2}},
          {.name = "gate_up",
           .refuses = never_refuses,
           .numerics = product_numerics,
           .plan = [](const OpView& op, const Device& device) {
             return plan_gate_up(op, device, false);
           }}};
}

}  // namespace parhelion::exec::cpu
