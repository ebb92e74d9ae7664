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
  struct Candidate {
    std::int32_t rank = 0;
    std::int32_t at = 0;
    TokenId id = -1;
  };

  void merge_short(const MergeTable& merges, std::vector<TokenId>& ids);
  void merge_long(const MergeTable& merges, std::vector<TokenId>& ids);
  void push(const MergeTable& merges, std::int32_t at);
  void join(const MergeTable& merges, const Candidate& candidate);

  std::vector<Merge> pairs_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace parhelion::text
