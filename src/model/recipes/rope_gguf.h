#pragma once

#include "ir/ops/rope.h"
#include "model/recipes/gguf_keys.h"
#include "state/checkpoint.h"

namespace parhelion::model {

/// Base and scaling of the rotary embedding, from keys and from the tensor `rope_freqs.weight`,
/// the divisor of each frequency. Positions are left open.
///
/// Errors: unsupported for scalings other than none and linear, and for divisors that are not
///         those of Llama 3 (low 1, high 4, 8192 original positions, any factor).
ir::RopeTable rope_from_gguf(GgufKeys& keys, const state::Checkpoint& checkpoint,
                             std::int64_t head_dim);

}  // namespace parhelion::model
