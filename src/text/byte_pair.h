#pragma once

#include "text/merge_table.h"

#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::text {

/// Merges pairs of neighbours, lowest rank first and of equals the leftmost, until none is left.
/// Keeps its memory between words; one per thread.
class BytePairMerger {
 public:
  /// Merges `ids` in place, which become fewer. Time grows as n log n.
  void merge(const MergeTable& merges, std::vector<TokenId>& ids);

 private:
  struct Symbol {
    std::int32_t previous = -1;
    std::int32_t next = -1;
    TokenId id = -1;  // -1 = merged into the symbol before it
  };

  void merge_short(const MergeTable& merges, std::vector<TokenId>& ids);
  void merge_long(const MergeTable& merges, std::vector<TokenId>& ids);
  Merge merge_at(const MergeTable& merges, std::int32_t at) const;
  void add_candidate(const MergeTable& merges, std::int32_t at);
  void join(const MergeTable& merges, std::int32_t at, TokenId id);

  std::vector<Merge> pairs_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> heap_;  // rank << 32 | place, the least in front
};

}  // namespace parhelion::text
