#pragma once

#include "state/rearrange.h"
#include "state/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace parhelion::state {

/// Passes a tensor through.
struct Identity {
  std::string name;
};

/// Passes a tensor through under another name.
struct Rename {
  std::string from;
  std::string to;
};

/// Swaps two dimensions.
struct Transpose {
  std::string name;
  std::int64_t first = 0;
  std::int64_t second = 1;
};

/// Removes one dimension of extent 1, or all of them if `dim` is absent.
struct Squeeze {
  std::string name;
  std::optional<std::int64_t> dim;
};

/// Inserts a dimension of extent 1 before `dim`.
struct Unsqueeze {
  std::string name;
  std::int64_t dim = 0;
};

/// Joins tensors of equal shape along a new dimension, in the order of `sources`.
struct Stack {
  std::vector<std::string> sources;
  std::string target;
  std::int64_t dim = 0;
};

/// Takes a dimension apart; its extent is the number of targets.
struct Unstack {
  std::string source;
  std::vector<std::string> targets;
  std::int64_t dim = 0;
};

/// Cuts a dimension into as many pieces as there are targets: of these sizes, or else of equal
/// size, the last one smaller if the extent is not divisible.
struct Chunk {
  std::string source;
  std::vector<std::string> targets;
  std::int64_t dim = 0;
  std::vector<std::int64_t> sizes = {};
};

/// Joins along a dimension, in the order of `sources`. Without `sizes` the extents must be those
/// into which `Chunk` would cut the result, so that the inverse always is exact.
struct Concatenate {
  std::vector<std::string> sources;
  std::string target;
  std::int64_t dim = 0;
  std::vector<std::int64_t> sizes = {};
};

/// Reorders the rows of each head of a q or k projection from the other layout to `to`.
struct RopeRows {
  std::string name;
  std::int64_t heads = 1;
  RopeLayout to = RopeLayout::half;
};

/// Changes the element kind.
struct Convert {
  std::string name;
  ir::Kind to = ir::Kind::f32;
};

/// One step from named tensors to named tensors.
using Leaf = std::variant<Identity, Rename, Transpose, Squeeze, Unsqueeze, Stack, Unstack, Chunk,
                          Concatenate, RopeRows, Convert>;

/// The names that a leaf reads and writes, in its own order.
std::vector<std::string> input_names(const Leaf& leaf);
std::vector<std::string> output_names(const Leaf& leaf);

/// The leaf that undoes this one.
///
/// Errors: invalid, naming the tensor, for `Convert` and for `Squeeze` of all dimensions, which
///         do not say what was there before.
Leaf inverse(const Leaf& leaf);

/// Runs a leaf on tensors in the order of `input_names`; gives them in the order of `output_names`,
/// still under the name of the first source, by which errors call them.
///
/// Errors: invalid if shapes do not fit or counts differ from the leaf's.
std::vector<TensorView> transform(const Leaf& leaf, std::vector<TensorView> inputs);

}  // namespace parhelion::state
