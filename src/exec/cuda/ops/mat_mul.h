#pragma once

#include "exec/cuda/products/lt_matmul.h"
#include "exec/op_view.h"

namespace parhelion::exec::cuda {

/// The product of a MatMul, without its bias.
ProductShape product_shape(const OpView& op);

}  // namespace parhelion::exec::cuda
