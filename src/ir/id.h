#pragma once

#include <compare>
#include <cstdint>

namespace parhelion::ir {

/// A strong index into one of a program's vectors. Counting begins at 1; 0 names nothing.
template <class Tag>
struct Id {
  std::uint32_t index = 0;
  explicit operator bool() const { return index != 0; }
  auto operator<=>(const Id&) const = default;
};

using BufferId = Id<struct BufferTag>;
using ValueId = Id<struct ValueTag>;
using OpId = Id<struct OpTag>;

}  // namespace parhelion::ir
