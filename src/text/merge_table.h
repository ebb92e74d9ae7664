#pragma once

#include "text/vocabulary.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace parhelion::text {

/// What two neighbouring tokens become. The lowest rank goes first.
struct Merge {
  std::int32_t rank = kNone;
  TokenId id = -1;
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
};

/// Pairs of tokens to merges, in one open-addressing table.
class MergeTable {
 public:
  /// Makes room for `merges` merges.
  explicit MergeTable(std::size_t merges = 0);

  /// Adds a merge; of two for one pair the later counts.
  void add(TokenId left, TokenId right, Merge merge);

  /// The merge of a pair, of rank kNone if it has none.
  Merge find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    std::uint64_t pair = kFree;
    Merge merge;
  };
  static constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

  std::size_t find_slot(std::uint64_t pair) const;

  std::size_t count_ = 0;
  std::vector<Slot> slots_;  // a power of two, at most three quarters full
};

}  // namespace parhelion::text
