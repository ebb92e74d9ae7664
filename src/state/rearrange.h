#pragma once

#include "state/tensor.h"

#include <cstdint>
#include <vector>

namespace parhelion::state {

/// How the rows of a head of q_proj or k_proj pair up for rotary embedding.
enum class RopeLayout : std::uint8_t {
  half,         ///< row i with row i + rows / 2 (Hugging Face)
  interleaved,  ///< row 2i with row 2i + 1 (GGUF Llama)
};

/// Each function below gives a dense tensor, under the name of its first source. A dimension may be
/// counted from the end by -1, -2, ... Blocks of quantised kinds, which lie along the last
/// dimension, are moved whole or refused. What changes no bytes is a view and copies nothing.
///
/// Errors: invalid if a dimension is out of range or shapes do not fit; the message names the
///         tensor.

/// The same bytes under another shape.
TensorView with_shape(TensorView tensor, Shape shape);

/// Swaps two dimensions.
TensorView transpose(const TensorView& tensor, std::int64_t first, std::int64_t second);

/// Removes dimension `dim`, whose extent is 1.
TensorView squeeze(TensorView tensor, std::int64_t dim);

/// Removes every dimension of extent 1.
TensorView squeeze_all(TensorView tensor);

/// Inserts a dimension of extent 1 before `dim`, which counts in the result.
TensorView unsqueeze(TensorView tensor, std::int64_t dim);

/// Cuts along `dim` into pieces of these sizes, whose sum is its extent.
std::vector<TensorView> split(const TensorView& tensor, std::int64_t dim,
                              const std::vector<std::int64_t>& sizes);

/// Joins along `dim`. Kinds and other extents must be equal; `tensors` must not be empty.
TensorView concatenate(const std::vector<TensorView>& tensors, std::int64_t dim);

/// Reorders the rows of `heads` heads from the other layout to `to`.
TensorView arrange_rope_rows(const TensorView& tensor, std::int64_t heads, RopeLayout to);

/// The tensor as another kind.
TensorView with_kind(TensorView tensor, ir::Kind kind);

/// `dim` counted from the start, for a tensor of `rank` dimensions.
std::int64_t checked_dim(const TensorView& tensor, std::int64_t dim, std::int64_t rank);

}  // namespace parhelion::state
