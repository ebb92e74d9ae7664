#include "state/mapper_leaves.h"

#include "base/error.h"

#include <algorithm>
#include <utility>

namespace parhelion::state {
namespace {

using Names = std::vector<std::string>;
using Tensors = std::vector<TensorView>;

/// The sizes into which an even cut of `extent` goes; fewer than `count` if it is too small.
std::vector<std::int64_t> even_sizes(std::int64_t extent, std::int64_t count) {
  const std::int64_t size = (extent + count - 1) / count;
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = extent; left > 0; left -= size) sizes.push_back(std::min(size, left));
  return sizes;
}

void check_piece_count(const TensorView& tensor, std::size_t pieces, std::size_t targets) {
  ensure(pieces == targets, ErrorKind::invalid, "tensor '{}': {} gives {} pieces for {} targets",
         tensor.name, shape_text(tensor.shape), pieces, targets);
}

std::int64_t extent_of(const TensorView& tensor, std::int64_t dim) {
  const std::int64_t at = checked_dim(tensor, dim, std::ssize(tensor.shape));
  return tensor.shape[static_cast<std::size_t>(at)];
}

Tensors transform_leaf(const Identity&, Tensors inputs) { return inputs; }
Tensors transform_leaf(const Rename&, Tensors inputs) { return inputs; }

Tensors transform_leaf(const Transpose& leaf, Tensors inputs) {
  return {transpose(inputs[0], leaf.first, leaf.second)};
}

Tensors transform_leaf(const Squeeze& leaf, Tensors inputs) {
  return {leaf.dim ? squeeze(std::move(inputs[0]), *leaf.dim) : squeeze_all(std::move(inputs[0]))};
}

Tensors transform_leaf(const Unsqueeze& leaf, Tensors inputs) {
  return {unsqueeze(std::move(inputs[0]), leaf.dim)};
}

Tensors transform_leaf(const Stack& leaf, Tensors inputs) {
  for (const TensorView& tensor : inputs) {
    ensure(tensor.shape == inputs[0].shape, ErrorKind::invalid,
           "stack: tensor '{}' has shape {}, expected {} as '{}'", tensor.name,
           shape_text(tensor.shape), shape_text(inputs[0].shape), inputs[0].name);
  }
  for (TensorView& tensor : inputs) tensor = unsqueeze(std::move(tensor), leaf.dim);
  return {concatenate(inputs, leaf.dim)};
}

Tensors transform_leaf(const Unstack& leaf, Tensors inputs) {
  const std::int64_t extent = extent_of(inputs[0], leaf.dim);
  check_piece_count(inputs[0], static_cast<std::size_t>(extent), leaf.targets.size());
  Tensors pieces = split(inputs[0], leaf.dim, std::vector<std::int64_t>(leaf.targets.size(), 1));
  for (TensorView& piece : pieces) piece = squeeze(std::move(piece), leaf.dim);
  return pieces;
}

Tensors transform_leaf(const Chunk& leaf, Tensors inputs) {
  const auto count = std::ssize(leaf.targets);
  const auto sizes =
      leaf.sizes.empty() ? even_sizes(extent_of(inputs[0], leaf.dim), count) : leaf.sizes;
  check_piece_count(inputs[0], sizes.size(), leaf.targets.size());
  return split(inputs[0], leaf.dim, sizes);
}

Tensors transform_leaf(const Concatenate& leaf, Tensors inputs) {
  TensorView whole = concatenate(inputs, leaf.dim);
  std::vector<std::int64_t> sizes;
  for (const TensorView& tensor : inputs) sizes.push_back(extent_of(tensor, leaf.dim));
  const auto expected =
      leaf.sizes.empty() ? even_sizes(extent_of(whole, leaf.dim), std::ssize(inputs)) : leaf.sizes;
  ensure(sizes == expected, ErrorKind::invalid,
         "concatenate: tensor '{}' and the next have extents {}, expected {}{}", inputs[0].name,
         shape_text(sizes), shape_text(expected),
         leaf.sizes.empty() ? " (uneven ones must be given)" : "");
  return {std::move(whole)};
}

Tensors transform_leaf(const RopeRows& leaf, Tensors inputs) {
  return {arrange_rope_rows(inputs[0], leaf.heads, leaf.to)};
}

Tensors transform_leaf(const Convert& leaf, Tensors inputs) {
  return {with_kind(std::move(inputs[0]), leaf.to)};
}

Names inputs_of(const Rename& leaf) { return {leaf.from}; }
Names inputs_of(const Stack& leaf) { return leaf.sources; }
Names inputs_of(const Unstack& leaf) { return {leaf.source}; }
Names inputs_of(const Chunk& leaf) { return {leaf.source}; }
Names inputs_of(const Concatenate& leaf) { return leaf.sources; }
template <class OneName>
Names inputs_of(const OneName& leaf) {
  return {leaf.name};
}

Names outputs_of(const Rename& leaf) { return {leaf.to}; }
Names outputs_of(const Stack& leaf) { return {leaf.target}; }
Names outputs_of(const Unstack& leaf) { return leaf.targets; }
Names outputs_of(const Chunk& leaf) { return leaf.targets; }
Names outputs_of(const Concatenate& leaf) { return {leaf.target}; }
template <class OneName>
Names outputs_of(const OneName& leaf) {
  return {leaf.name};
}

Leaf inverse_of(const Identity& leaf) { return leaf; }
Leaf inverse_of(const Rename& leaf) { return Rename{leaf.to, leaf.from}; }
Leaf inverse_of(const Transpose& leaf) { return leaf; }
Leaf inverse_of(const Squeeze& leaf) {
  ensure(leaf.dim.has_value(), ErrorKind::invalid,
         "squeeze '{}': has no inverse, since its dimensions are not named", leaf.name);
  return Unsqueeze{leaf.name, *leaf.dim};
}
Leaf inverse_of(const Unsqueeze& leaf) { return Squeeze{leaf.name, leaf.dim}; }
Leaf inverse_of(const Stack& leaf) { return Unstack{leaf.target, leaf.sources, leaf.dim}; }
Leaf inverse_of(const Unstack& leaf) { return Stack{leaf.targets, leaf.source, leaf.dim}; }
Leaf inverse_of(const Chunk& leaf) {
  return Concatenate{leaf.targets, leaf.source, leaf.dim, leaf.sizes};
}
Leaf inverse_of(const Concatenate& leaf) {
  return Chunk{leaf.target, leaf.sources, leaf.dim, leaf.sizes};
}
Leaf inverse_of(const RopeRows& leaf) {
  const bool to_half = leaf.to == RopeLayout::half;
  return RopeRows{leaf.name, leaf.heads, to_half ? RopeLayout::interleaved : RopeLayout::half};
}
Leaf inverse_of(const Convert& leaf) {
  fail(ErrorKind::invalid, "convert '{}': has no inverse, since the kind before is not named",
       leaf.name);
}

}  // namespace

std::vector<std::string> input_names(const Leaf& leaf) {
  return std::visit([](const auto& held) { return inputs_of(held); }, leaf);
}

std::vector<std::string> output_names(const Leaf& leaf) {
  return std::visit([](const auto& held) { return outputs_of(held); }, leaf);
}

Leaf inverse(const Leaf& leaf) {
  return std::visit([](const auto& held) { return inverse_of(held); }, leaf);
}

std::vector<TensorView> transform(const Leaf& leaf, std::vector<TensorView> inputs) {
  const std::size_t expected = input_names(leaf).size();
  ensure(!inputs.empty() && inputs.size() == expected, ErrorKind::invalid,
         "mapper: a leaf got {} tensors, expected {}", inputs.size(), expected);
  return std::visit([&](const auto& held) { return transform_leaf(held, std::move(inputs)); },
                    leaf);
}

}  // namespace parhelion::state
