#include "exec/cuda/ops/mat_mul.h"

#include "exec/cuda/kernels/swiglu.h"
#include "exec/cuda/ops/families.h"
#include "exec/cuda/ops/gemv.h"
#include "exec/cuda/products/product.h"

namespace parhelion::exec::cuda {

ProductShape product_shape(const OpView& op) {
  const auto& attributes = std::get<ir::MatMul>(op.node.op);
  return {.m = op.output_dim(0, 0),
          .n = op.output_dim(0, 1),
          .k = op.input_dim(0, attributes.transpose_a ? 0 : 1),
          .transpose_a = attributes.transpose_a,
          .transpose_b = attributes.transpose_b,
          .a = op.inputs[0].kind(),
          .b = op.inputs[1].kind(),
          .out = attributes.out,
          .accumulate = attributes.accumulate};
}

namespace {

Product mat_mul_product(const OpView& op, const Device& device, Multiplier multiplier) {
  const bool bias = std::get<ir::MatMul>(op.node.op).bias;
  return Product(product_shape(op), device, bias ? Bias::added : Bias::none, multiplier);
}

std::unique_ptr<Kernel> plan_mat_mul(const OpView& op, const Device& device,
                                     Multiplier multiplier) {
  const Product product = mat_mul_product(op, device, multiplier);
  const bool bias = std::get<ir::MatMul>(op.node.op).bias;
  const ir::Kind bias_kind = bias ? op.inputs[2].kind() : ir::Kind::f32;
  return make_kernel(product.workspace_bytes(), [=](const LaunchArgs& launch) {
    product.launch({.a = launch.inputs[0],
                    .b = launch.inputs[1],
                    .c = launch.outputs[0],
                    .bias = bias ? launch.inputs[2] : nullptr,
                    .bias_kind = bias_kind,
                    .workspace = launch.workspace,
                    .stream = launch.stream});
  });
}

std::string mat_mul_numerics(const OpView& op, const Device& device, Multiplier multiplier) {
  return mat_mul_product(op, device, multiplier).numerics();
}

std::string_view refuses_lt_mat_mul(const OpView& op, const Device& device) {
  return mat_mul_product(op, device, Multiplier::any).is_plain() ? "cuBLASLt has no algorithm" : "";
}

Product gate_up_product(const OpView& op, const Device& device) {
  const ir::Kind kind = op.inputs[0].kind();
  return Product({.m = op.output_dim(0, 0),
                  .n = op.output_dim(0, 1),
                  .k = op.input_dim(0, 1),
                  .transpose_b = true,
                  .a = kind,
                  .b = op.inputs[1].kind(),
                  .out = kind},
                 device);
}

/// The gate's product into the output, up's into workspace, then their Swiglu in place.
std::unique_ptr<Kernel> plan_gate_up(const OpView& op, const Device& device) {
  const Product product = gate_up_product(op, device);
  const ir::Kind kind = op.inputs[0].kind();
  const std::int64_t count = count_of(op.outputs[0]);
  const std::int64_t up_bytes = aligned(count * ir::element(kind).block_bytes);
  return make_kernel(up_bytes + product.workspace_bytes(), [=](const LaunchArgs& launch) {
    std::byte* gate = launch.outputs[0];
    std::byte* up = launch.workspace;
    ProductOperands at{.a = launch.inputs[0],
                       .b = launch.inputs[1],
                       .c = gate,
                       .workspace = launch.workspace + up_bytes,
                       .stream = launch.stream};
    product.launch(at);
    at.b = launch.inputs[2];
    at.c = up;
    product.launch(at);
    swiglu({.kind = kind, .gate = gate, .up = up, .y = gate, .count = count}, launch.stream);
  });
}

std::string gate_up_numerics(const OpView& op, const Device& device) {
  return gate_up_product(op, device).numerics();
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::GateUp&) {
  return {gemv_of_gate_up(),
          {.name = "gate_up",
           .refuses = never_refuses,
           .numerics = gate_up_numerics,
           .plan = plan_gate_up}};
}

std::vector<Candidate> family_candidates(const ir::MatMul&) {
  return {
      gemv_of_mat_mul(),
      {.name = "matmul.cublaslt",
       .refuses = refuses_lt_mat_mul,
       .numerics =
           [](const OpView& op, const Device& device) {
             return mat_mul_numerics(op, device, Multiplier::any);
           },
       .plan = [](const OpView& op,
                  const Device& device) { return plan_mat_mul(op, device, Multiplier::any); }},
      {.name = "matmul.plain",
       .refuses = never_refuses,
       .numerics =
           [](const OpView& op, const Device& device) {
             return mat_mul_numerics(op, device, Multiplier::plain);
           },
       .plan = [](const OpView& op,
                  const Device& device) { return plan_mat_mul(op, device, Multiplier::plain); }}};
}

}  // namespace parhelion::exec::cuda
