#pragma once

#include "exec/cuda/fusion.h"

namespace parhelion::exec::cuda {

/// The gradients of a norm: [rope ahead of it], rms_norm_grad_input, [the sum with the residual's
/// gradient], [rms_norm_grad_weight].
Fusion norm_gradients_fusion();

/// A product and the sum of its result with another gradient, rounded once. Only of gradients by
/// inputs, whose bits are no other op's.
Fusion product_add_fusion();

/// What lies between projections and attention: norms and ropes of heads and their writing to
/// pages, in any number up to kMostHeadTasks tensors.
Fusion head_rows_fusion();

/// Products of one row by several weights: what `matmul.gemv` takes, in one launch.
Fusion gemvs_fusion();

/// All layers of a dense decoder for one row, and the norm after them: one kernel that stays.
Fusion resident_fusion();

}  // namespace parhelion::exec::cuda
