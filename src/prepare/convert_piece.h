#pragma once

#include "ir/element.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::prepare {

/// What a conversion did to the elements so far.
struct Changes {
  std::int64_t non_finite = 0;  ///< of the source
  std::int64_t overflows = 0;   ///< finite in the source alone
  double largest_error = 0;     ///< of the others
};

/// Elements of a piece: whole blocks of every kind.
inline constexpr std::int64_t kPieceElements = std::int64_t{1} << 20;

/// Converts a piece of at most kPieceElements and compares each element with what it was.
class PieceConverter {
 public:
  PieceConverter(ir::Kind from, ir::Kind to);

  /// The bytes in the new kind, until the next call.
  std::span<const std::byte> convert(std::span<const std::byte> piece, std::int64_t elements);

  const Changes& changes() const { return changes_; }

 private:
  void compare(std::int64_t elements);

  ir::Kind from_, to_;
  std::vector<std::byte> converted_;
  std::vector<float> before_, after_;
  Changes changes_;
};

}  // namespace parhelion::prepare
