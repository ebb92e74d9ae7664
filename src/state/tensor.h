#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::state {

/// Extents in row-major order; empty for a scalar.
using Shape = std::vector<std::int64_t>;

/// A named, immutable, dense, row-major tensor on the host.
///
/// `bytes` may have any alignment: read them by memcpy, or by `convert`. They lie in a checkpoint's
/// mapping while `storage` is null, and live as long as that checkpoint; otherwise `storage` keeps
/// them alive.
struct TensorView {
  std::string name;
  ir::Kind kind = ir::Kind::f32;
  Shape shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::byte[]> storage;
};

/// Elements of `shape`, or none if an extent is negative or the product passes 2^63.
std::optional<std::int64_t> element_count(const Shape& shape);

/// Bytes of a dense tensor, or none if the count overflows or the last extent is not a whole number
/// of the kind's blocks.
std::optional<std::int64_t> byte_count(ir::Kind kind, const Shape& shape);

/// The shape as messages print it, such as `[2, 3]`.
std::string shape_text(const Shape& shape);

/// Up to a hundred names in quotes, then how many more there are.
std::string names_text(const std::vector<std::string>& names);

}  // namespace parhelion::state
