#include "exec/cuda/products/product.h"

#include "exec/cuda/kernels/plain_matmul.h"
#include "exec/cuda/kernels/product_edges.h"
#include "exec/cuda/libraries.h"
#include "exec/cuda/ops/families.h"

namespace parhelion::exec::cuda {
namespace {

/// The product that the library runs: operands of one kind, and no f32 operands with a bf16 result.
ProductShape lt_shape_of(ProductShape shape, Bias bias) {
  if (shape.a != shape.b) shape.a = shape.b = ir::Kind::f32;
  if (shape.a == ir::Kind::f32 || bias == Bias::added) shape.out = ir::Kind::f32;
  return shape;
}

std::int64_t widened_bytes(ir::Kind stored, ir::Kind used, std::int64_t count) {
  return stored == used ? 0 : aligned(count * std::int64_t{sizeof(float)});
}

bool is_nothing(const ProductShape& shape) { return shape.m == 0 || shape.n == 0; }

}  // namespace

Product::Product(const ProductShape& shape, const Device& device, Bias bias, Multiplier multiplier)
    : shape_(shape), numerics_("plain_matmul") {
  if (multiplier == Multiplier::plain || is_nothing(shape) || shape.k == 0) return;
  const ProductShape used = lt_shape_of(shape, bias);
  const std::optional<ProductChoice> choice =
      device.libraries->product_choices().choose(used, device);
  if (!choice) return;
  lt_ = std::make_shared<const LtMatmul>(device.libraries->cublas_lt(), used,
                                         device.tf32 ? F32Products::tf32 : F32Products::whole);
  algorithm_ = choice->algorithm;
  numerics_ = choice->numerics;
  a_bytes_ = widened_bytes(shape.a, used.a, shape.m * shape.k);
  b_bytes_ = widened_bytes(shape.b, used.b, shape.k * shape.n);
  wide_bytes_ = widened_bytes(shape.out, used.out, shape.m * shape.n);
  workspace_bytes_ = a_bytes_ + b_bytes_ + wide_bytes_ + aligned(algorithm_.workspace_bytes);
}

void Product::launch(const ProductOperands& at) const {
  if (is_nothing(shape_)) return;
  if (lt_ != nullptr) return launch_lt(at);
  plain_matmul({.a = at.a,
                .b = at.b,
                .bias = at.bias,
                .c = at.c,
                .a_kind = shape_.a,
                .b_kind = shape_.b,
                .bias_kind = at.bias_kind,
                .c_kind = shape_.out,
                .m = shape_.m,
                .n = shape_.n,
                .k = shape_.k,
                .transpose_a = shape_.transpose_a,
                .transpose_b = shape_.transpose_b,
                .accumulate = shape_.accumulate},
               at.stream);
}

void Product::launch_lt(const ProductOperands& at) const {
  std::byte* a = at.workspace;
  std::byte* b = a + a_bytes_;
  std::byte* wide = b + b_bytes_;
  if (a_bytes_ != 0) widen(at.a, reinterpret_cast<float*>(a), shape_.m * shape_.k, at.stream);
  if (b_bytes_ != 0) widen(at.b, reinterpret_cast<float*>(b), shape_.k * shape_.n, at.stream);
  void* product = wide_bytes_ == 0 ? at.c : wide;
  lt_->run(algorithm_, a_bytes_ == 0 ? at.a : a, b_bytes_ == 0 ? at.b : b,
           at.addend == nullptr ? product : at.addend, product, wide + wide_bytes_, at.stream);
  if (wide_bytes_ == 0 && at.bias == nullptr) return;
  finish_product({.product = static_cast<const float*>(product),
                  .bias = at.bias,
                  .bias_kind = at.bias_kind,
                  .c = at.c,
                  .c_kind = shape_.out,
                  .rows = shape_.m,
                  .columns = shape_.n},
                 at.stream);
}

}  // namespace parhelion::exec::cuda
