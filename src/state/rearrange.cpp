#include "state/rearrange.h"

#include "base/error.h"
#include "state/convert.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace parhelion::state {
namespace {

/// A tensor with memory of its own, to be filled through `data`.
struct FreshTensor {
  TensorView view;
  std::byte* data;
};

FreshTensor fresh_tensor(const std::string& name, ir::Kind kind, Shape shape) {
  const auto bytes = byte_count(kind, shape);
  ensure(bytes.has_value(), ErrorKind::invalid,
         "tensor '{}': {} {} has rows of no whole blocks or passes 2^63 bytes", name,
         ir::name(kind), shape_text(shape));
  const auto size = static_cast<std::size_t>(*bytes);
  std::shared_ptr<std::byte[]> storage = std::make_shared_for_overwrite<std::byte[]>(size);
  std::byte* data = storage.get();
  return {{name, kind, std::move(shape), {data, size}, std::move(storage)}, data};
}

/// The bytes of `whole` from `begin` on as a tensor of this shape, which nothing fills.
FreshTensor view_of(const TensorView& whole, Shape shape, std::size_t begin) {
  const auto bytes = byte_count(whole.kind, shape);
  ensure(bytes.has_value(), ErrorKind::invalid, "tensor '{}': {} {} has rows of no whole blocks",
         whole.name, ir::name(whole.kind), shape_text(shape));
  TensorView view = whole;
  view.shape = std::move(shape);
  view.bytes = whole.bytes.subspan(begin, static_cast<std::size_t>(*bytes));
  return {std::move(view), nullptr};
}

/// The product of extents [begin, end).
std::int64_t extent_product(const Shape& shape, std::int64_t begin, std::int64_t end) {
  return std::accumulate(shape.begin() + begin, shape.begin() + end, std::int64_t{1},
                         std::multiplies<>());
}

/// A transposition as loops: [outer, rows, middle, columns, item bytes].
struct TransposeLoops {
  std::int64_t outer, rows, middle, columns, item_bytes;
};

/// Copies in tiles, so that reads and writes both stay in cache. `copy` moves one item.
template <class Copy>
void transpose_items(const TransposeLoops& loops, const std::byte* in, std::byte* out, Copy copy) {
  constexpr std::int64_t kTile = 16;
  const std::int64_t rows = loops.rows, middle = loops.middle, columns = loops.columns;
  const std::int64_t item_bytes = loops.item_bytes;
  const auto tile = [&](std::int64_t o, std::int64_t m, std::int64_t row, std::int64_t column) {
    for (std::int64_t r = row; r < std::min(rows, row + kTile); ++r) {
      for (std::int64_t c = column; c < std::min(columns, column + kTile); ++c) {
        copy(out + (((o * columns + c) * middle + m) * rows + r) * item_bytes,
             in + (((o * rows + r) * middle + m) * columns + c) * item_bytes);
      }
    }
  };
  for (std::int64_t plane = 0; plane < loops.outer * middle; ++plane) {
    for (std::int64_t row = 0; row < rows; row += kTile)
      for (std::int64_t column = 0; column < columns; column += kTile)
        tile(plane / middle, plane % middle, row, column);
  }
}

template <std::size_t kBytes>
void copy_item(std::byte* to, const std::byte* from) {
  std::memcpy(to, from, kBytes);
}

void run_transpose(const TransposeLoops& loops, const std::byte* in, std::byte* out) {
  const auto bytes = static_cast<std::size_t>(loops.item_bytes);
  if (bytes == 2) return transpose_items(loops, in, out, copy_item<2>);
  if (bytes == 4) return transpose_items(loops, in, out, copy_item<4>);
  transpose_items(loops, in, out,
                  [bytes](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
}

void check_same_but_for(const TensorView& tensor, const TensorView& first, std::int64_t dim) {
  Shape shape = tensor.shape;
  if (shape.size() == first.shape.size())
    shape[static_cast<std::size_t>(dim)] = first.shape[static_cast<std::size_t>(dim)];
  ensure(
      tensor.kind == first.kind && shape == first.shape, ErrorKind::invalid,
      "concatenate: tensor '{}' is {} {}, which does not continue '{}', {} {}, along dimension {}",
      tensor.name, ir::name(tensor.kind), shape_text(tensor.shape), first.name,
      ir::name(first.kind), shape_text(first.shape), dim);
}

Shape with_extent(Shape shape, std::int64_t dim, std::int64_t extent) {
  shape[static_cast<std::size_t>(dim)] = extent;
  return shape;
}

/// How often the bytes along `dim` and within it repeat.
std::int64_t outer_count(const Shape& shape, std::int64_t dim) {
  return extent_product(shape, 0, dim);
}

/// The piece of `whole` that has this shape and begins `begin` bytes into each outer repetition.
TensorView piece_of(const TensorView& whole, std::int64_t dim, Shape shape, std::size_t begin) {
  const std::int64_t outer = outer_count(whole.shape, dim);
  FreshTensor piece = outer == 1 ? view_of(whole, std::move(shape), begin)
                                 : fresh_tensor(whole.name, whole.kind, std::move(shape));
  if (piece.data == nullptr || piece.view.bytes.empty()) return piece.view;
  const std::int64_t run = std::ssize(piece.view.bytes) / outer;
  const std::int64_t stride = std::ssize(whole.bytes) / outer;
  const std::byte* from = whole.bytes.data() + begin;
  for (std::int64_t o = 0; o < outer; ++o)
    std::memcpy(piece.data + o * run, from + o * stride, static_cast<std::size_t>(run));
  return piece.view;
}

}  // namespace

std::int64_t checked_dim(const TensorView& tensor, std::int64_t dim, std::int64_t rank) {
  ensure(dim >= -rank && dim < rank, ErrorKind::invalid,
         "tensor '{}': dimension {} is out of range for shape {}", tensor.name, dim,
         shape_text(tensor.shape));
  return dim < 0 ? dim + rank : dim;
}

TensorView with_shape(TensorView tensor, Shape shape) {
  ensure(byte_count(tensor.kind, shape) == std::ssize(tensor.bytes), ErrorKind::invalid,
         "tensor '{}': {} {} cannot have shape {}", tensor.name, ir::name(tensor.kind),
         shape_text(tensor.shape), shape_text(shape));
  tensor.shape = std::move(shape);
  return tensor;
}

TensorView transpose(const TensorView& tensor, std::int64_t first, std::int64_t second) {
  const auto rank = std::ssize(tensor.shape);
  const auto [a, b] =
      std::minmax({checked_dim(tensor, first, rank), checked_dim(tensor, second, rank)});
  if (a == b) return tensor;
  ensure(ir::is_plain(tensor.kind) || b < rank - 1, ErrorKind::invalid,
         "tensor '{}': the last dimension of {} cannot be transposed, since it is stored in blocks",
         tensor.name, ir::name(tensor.kind));
  Shape shape = tensor.shape;
  std::swap(shape[static_cast<std::size_t>(a)], shape[static_cast<std::size_t>(b)]);
  FreshTensor result = fresh_tensor(tensor.name, tensor.kind, std::move(shape));
  if (tensor.bytes.empty()) return result.view;
  TransposeLoops loops{
      extent_product(tensor.shape, 0, a), tensor.shape[static_cast<std::size_t>(a)],
      extent_product(tensor.shape, a + 1, b), tensor.shape[static_cast<std::size_t>(b)], 0};
  loops.item_bytes =
      std::ssize(tensor.bytes) / (loops.outer * loops.rows * loops.middle * loops.columns);
  run_transpose(loops, tensor.bytes.data(), result.data);
  return result.view;
}

TensorView squeeze(TensorView tensor, std::int64_t dim) {
  const std::int64_t at = checked_dim(tensor, dim, std::ssize(tensor.shape));
  Shape shape = tensor.shape;
  ensure(shape[static_cast<std::size_t>(at)] == 1, ErrorKind::invalid,
         "tensor '{}': dimension {} of {} cannot be squeezed, expected extent 1", tensor.name, at,
         shape_text(shape));
  shape.erase(shape.begin() + at);
  return with_shape(std::move(tensor), std::move(shape));
}

TensorView squeeze_all(TensorView tensor) {
  Shape shape = tensor.shape;
  std::erase(shape, 1);
  return with_shape(std::move(tensor), std::move(shape));
}

TensorView unsqueeze(TensorView tensor, std::int64_t dim) {
  Shape shape = tensor.shape;
  shape.insert(shape.begin() + checked_dim(tensor, dim, std::ssize(shape) + 1), 1);
  return with_shape(std::move(tensor), std::move(shape));
}

std::vector<TensorView> split(const TensorView& tensor, std::int64_t dim,
                              const std::vector<std::int64_t>& sizes) {
  const std::int64_t at = checked_dim(tensor, dim, std::ssize(tensor.shape));
  const std::int64_t extent = tensor.shape[static_cast<std::size_t>(at)];
  const bool fits = std::ranges::all_of(sizes, [](std::int64_t size) { return size >= 0; }) &&
                    std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == extent;
  ensure(fits, ErrorKind::invalid, "tensor '{}': dimension {} of {} cannot be split into {}",
         tensor.name, at, shape_text(tensor.shape), shape_text(sizes));
  const std::int64_t outer = std::max(outer_count(tensor.shape, at), std::int64_t{1});
  std::vector<TensorView> pieces;
  std::size_t begin = 0;
  for (const std::int64_t size : sizes) {
    pieces.push_back(piece_of(tensor, at, with_extent(tensor.shape, at, size), begin));
    begin += pieces.back().bytes.size() / static_cast<std::size_t>(outer);
  }
  return pieces;
}

TensorView concatenate(const std::vector<TensorView>& tensors, std::int64_t dim) {
  const TensorView& first = tensors.front();
  const std::int64_t at = checked_dim(first, dim, std::ssize(first.shape));
  if (tensors.size() == 1) return first;
  std::int64_t extent = 0;
  for (const TensorView& tensor : tensors) {
    check_same_but_for(tensor, first, at);
    extent += tensor.shape[static_cast<std::size_t>(at)];
  }
  FreshTensor whole = fresh_tensor(first.name, first.kind, with_extent(first.shape, at, extent));
  const std::int64_t outer = outer_count(whole.view.shape, at);
  std::byte* to = whole.data;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const TensorView& tensor : tensors) {
      const std::int64_t run = std::ssize(tensor.bytes) / outer;
      std::memcpy(to, tensor.bytes.data() + o * run, static_cast<std::size_t>(run));
      to += run;
    }
  }
  return whole.view;
}

TensorView arrange_rope_rows(const TensorView& tensor, std::int64_t heads, RopeLayout to) {
  const std::int64_t rows = tensor.shape.empty() ? 0 : tensor.shape.front();
  ensure(heads > 0 && rows % (2 * heads) == 0, ErrorKind::invalid,
         "tensor '{}': rows of {} cannot be paired in {} heads", tensor.name,
         shape_text(tensor.shape), heads);
  const Shape pairs{heads, to == RopeLayout::half ? rows / heads / 2 : 2,
                    to == RopeLayout::half ? 2 : rows / heads / 2};
  Shape split_shape = pairs;
  split_shape.insert(split_shape.end(), tensor.shape.begin() + 1, tensor.shape.end());
  return with_shape(transpose(with_shape(tensor, std::move(split_shape)), 1, 2), tensor.shape);
}

TensorView with_kind(TensorView tensor, ir::Kind kind) {
  if (tensor.kind == kind) return tensor;
  ensure(can_convert(tensor.kind, kind), ErrorKind::unsupported,
         "tensor '{}': {} cannot be converted to {}", tensor.name, ir::name(tensor.kind),
         ir::name(kind));
  FreshTensor result = fresh_tensor(tensor.name, kind, tensor.shape);
  convert(tensor.kind, tensor.bytes, kind, {result.data, result.view.bytes.size()});
  return result.view;
}

}  // namespace parhelion::state
