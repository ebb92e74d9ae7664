#include "exec/cuda/fusions/fusions.h"
#include "exec/cuda/ops/mat_mul.h"
#include "exec/cuda/products/product.h"

namespace parhelion::exec::cuda {
namespace {

std::size_t match_product_add(const Uses& uses, std::size_t first, std::size_t most) {
  const auto* product = uses.find<ir::MatMul>(first);
  const auto* sum = uses.find<ir::Binary>(first + 1);
  if (most < 2 || product == nullptr || sum == nullptr) return 0;
  const auto& op = std::get<ir::MatMul>(product->op);
  const ir::ValueId y = product->outputs[0];
  const bool is_sum = std::get<ir::Binary>(sum->op).function == ir::BinaryFunction::add &&
                      (sum->inputs[0].value == y) != (sum->inputs[1].value == y);
  const bool is_gradient =
      product->phase == ir::Phase::input_grad && sum->phase == ir::Phase::input_grad;
  return is_sum && is_gradient && !op.bias && !op.accumulate && uses.is_within(y, first, first + 2)
             ? 2
             : 0;
}

ProductShape product_add_shape(std::span<const OpView> ops) {
  ProductShape shape = product_shape(ops[0]);
  shape.accumulate = true;
  return shape;
}

std::string_view refuses_product_add(std::span<const OpView> ops, const Device& device) {
  const ProductShape shape = product_add_shape(ops);
  if (shape.a != shape.out || shape.b != shape.out) return "operands are of two kinds";
  return Product(shape, device).is_plain() ? "cuBLASLt has no algorithm" : "";
}

std::string product_add_numerics(std::span<const OpView> ops, const Device& device) {
  return Product(product_add_shape(ops), device).numerics();
}

std::unique_ptr<Kernel> plan_product_add(std::span<const OpView> ops, const Device& device) {
  const Product product(product_add_shape(ops), device);
  const bool is_first = ops[1].node.inputs[0].value == ops[0].node.outputs[0];
  const std::size_t addend = first_input(ops, 1) + (is_first ? 1 : 0);
  return make_kernel(product.workspace_bytes(), [=](const LaunchArgs& launch) {
    product.launch({.a = launch.inputs[0],
                    .b = launch.inputs[1],
                    .c = launch.outputs[1],
                    .addend = launch.inputs[addend],
                    .workspace = launch.workspace,
                    .stream = launch.stream});
  });
}

}  // namespace

Fusion product_add_fusion() {
  return {.name = "product_add",
          .match = match_product_add,
          .refuses = refuses_product_add,
          .in_place = [](const ir::OpNode&, std::size_t, const ir::OpNode&) { return false; },
          .numerics = product_add_numerics,
          .plan = plan_product_add};
}

}  // namespace parhelion::exec::cuda
