#include "text/byte_pair.h"

#include <algorithm>
#include <functional>

namespace parhelion::text {
namespace {

/// Below this length a scan over all pairs beats a heap.
constexpr std::size_t kShortWord = 48;

/// Orders candidates by rank and then by place.
std::uint64_t heap_key(std::int32_t rank, std::int32_t at) {
  return static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(at);
}

}  // namespace

void BytePairMerger::merge(const MergeTable& merges, std::vector<TokenId>& ids) {
  if (ids.size() < kShortWord) return merge_short(merges, ids);
  merge_long(merges, ids);
}

void BytePairMerger::merge_short(const MergeTable& merges, std::vector<TokenId>& ids) {
  pairs_.clear();
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    pairs_.push_back(merges.find(ids[i], ids[i + 1]));
  }
  const auto has_lower_rank = [](const Merge& a, const Merge& b) { return a.rank < b.rank; };
  while (!pairs_.empty()) {
    const auto best = std::min_element(pairs_.begin(), pairs_.end(), has_lower_rank);
    if (best->rank == Merge::kNone) break;
    const auto at = static_cast<std::size_t>(best - pairs_.begin());
    ids[at] = best->id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    pairs_.erase(best);
    if (at < pairs_.size()) pairs_[at] = merges.find(ids[at], ids[at + 1]);
    if (at > 0) pairs_[at - 1] = merges.find(ids[at - 1], ids[at]);
  }
}

/// The merge of the symbol at `at` with the next one, of rank kNone if there is none.
Merge BytePairMerger::merge_at(const MergeTable& merges, std::int32_t at) const {
  const Symbol& left = symbols_[static_cast<std::size_t>(at)];
  if (left.id < 0 || left.next < 0) return {};
  return merges.find(left.id, symbols_[static_cast<std::size_t>(left.next)].id);
}

void BytePairMerger::add_candidate(const MergeTable& merges, std::int32_t at) {
  const std::int32_t rank = merge_at(merges, at).rank;
  if (rank != Merge::kNone) heap_.push_back(heap_key(rank, at));
}

void BytePairMerger::join(const MergeTable& merges, std::int32_t at, TokenId id) {
  Symbol& left = symbols_[static_cast<std::size_t>(at)];
  Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
  left.id = id;
  left.next = right.next;
  right.id = -1;
  if (left.next >= 0) symbols_[static_cast<std::size_t>(left.next)].previous = at;
  for (const std::int32_t changed : {left.previous, at}) {
    const std::size_t before = heap_.size();
    if (changed >= 0) add_candidate(merges, changed);
    if (heap_.size() != before) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
}

void BytePairMerger::merge_long(const MergeTable& merges, std::vector<TokenId>& ids) {
  const auto count = static_cast<std::int32_t>(ids.size());
  symbols_.clear();
  heap_.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    symbols_.push_back({i - 1, i + 1 < count ? i + 1 : -1, ids[static_cast<std::size_t>(i)]});
  }
  for (std::int32_t i = 0; i < count; ++i) add_candidate(merges, i);
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const std::uint64_t key = heap_.back();
    heap_.pop_back();
    const auto at = static_cast<std::int32_t>(key & 0xFFFFFFFF);
    const Merge now = merge_at(merges, at);  // the pair may have changed since it was added
    if (now.rank != Merge::kNone && heap_key(now.rank, at) == key) join(merges, at, now.id);
  }
  ids.clear();
  for (const Symbol& symbol : symbols_) {
    if (symbol.id >= 0) ids.push_back(symbol.id);
  }
}

}  // namespace parhelion::text
