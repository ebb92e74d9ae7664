#pragma once

#include <cstdint>
#include <vector>

namespace parhelion::ir {

/// Bytes of an arena that are live from op `first` to op `last`, both included.
struct Block {
  std::int64_t bytes = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t offset = 0;  ///< given by `allocate_offsets`
};

/// The most bytes live at one op: no allocation has a lower peak.
std::int64_t most_live_bytes(const std::vector<Block>& blocks);

/// Gives each block an offset such that no two blocks overlap which are live at the same op. Tries
/// some orders of placing them, keeps the best, and returns its peak. Offsets are sums of block
/// sizes, so they are aligned as the sizes are.
std::int64_t allocate_offsets(std::vector<Block>& blocks);

}  // namespace parhelion::ir
