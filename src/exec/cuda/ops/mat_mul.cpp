#include "exec/cuda/ops/families.h"
#include "exec/cuda/products/product.h"

namespace parhelion::exec::cuda {
namespace {

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

Product mat_mul_product(const OpView& op, const Device& device, Multiplier multiplier) {
  const bool bias = std::get<ir::MatMul>(op.node.op).bias;
  return Product(product_shape(op), device, bias ? Bias::added : Bias::none, multiplier);
}

template <Multiplier multiplier>
std::unique_ptr<Kernel> plan_mat_mul(const OpView& op, const Device& device) {
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

template <Multiplier multiplier>
std::string mat_mul_numerics(const OpView& op, const Device& device) {
  return mat_mul_product(op, device, multiplier).numerics();
}

std::string_view refuses_lt_mat_mul(const OpView& op, const Device& device) {
  return mat_mul_product(op, device, Multiplier::any).is_plain() ? "cuBLASLt has no algorithm" : "";
}

}  // namespace

std::vector<Candidate> family_candidates(const ir::MatMul&) {
  return {{.name = "matmul.cublaslt",
           .refuses = refuses_lt_mat_mul,
           .numerics = mat_mul_numerics<Multiplier::any>,
           .plan = plan_mat_mul<Multiplier::any>},
          {.name = "matmul.plain",
           .refuses = never_refuses,
           .numerics = mat_mul_numerics<Multiplier::plain>,
           .plan = plan_mat_mul<Multiplier::plain>}};
}

}  // namespace parhelion::exec::cuda
