#pragma once

#include "state/rearrange.h"
#include "state/test_files.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace parhelion::state {

/// A tensor with memory of its own that holds `values`.
template <class T>
TensorView tensor_of(std::string name, ir::Kind kind, Shape shape, const std::vector<T>& values) {
  auto storage = std::make_shared<std::byte[]>(values.size() * sizeof(T));
  std::ranges::copy(std::as_bytes(std::span(values)), storage.get());
  const std::span<const std::byte> bytes(storage.get(), values.size() * sizeof(T));
  return {std::move(name), kind, std::move(shape), bytes, std::move(storage)};
}

/// An i32 tensor that holds 0, 1, 2, ...
inline TensorView ramp(std::string name, const Shape& shape, std::int32_t first = 0) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(*element_count(shape)));
  std::iota(values.begin(), values.end(), first);
  return tensor_of(std::move(name), ir::Kind::i32, shape, values);
}

template <class T = std::int32_t>
std::vector<T> values_in(const TensorView& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

/// Kind, shape and bytes, for comparison.
inline std::string content(const TensorView& tensor) {
  return std::string(ir::name(tensor.kind)) + shape_text(tensor.shape) + as_text(tensor.bytes);
}

}  // namespace parhelion::state
