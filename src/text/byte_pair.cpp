#include "text/byte_pair.h"

#include <algorithm>

namespace parhelion::text {
namespace {

/// Below this length a scan over all pairs beats a heap.
constexpr std::size_t kShortWord = 48;

/// Orders a heap so that its front is the next pair to merge.
constexpr auto kGoesLater = [](const auto& a, const auto& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
};

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

void BytePairMerger::push(const MergeTable& merges, std::int32_t at) {
  const Symbol& left = symbols_[static_cast<std::size_t>(at)];
  if (left.next < 0) return;
  const Merge merge = merges.find(left.id, symbols_[static_cast<std::size_t>(left.next)].id);
  if (merge.rank == Merge::kNone) return;
  heap_.push_back({merge.rank, at, merge.id});
}

void BytePairMerger::join(const MergeTable& merges, const Candidate& candidate) {
  Symbol& left = symbols_[static_cast<std::size_t>(candidate.at)];
  Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
  left.id = candidate.id;
  left.next = right.next;
  right.id = -1;
  if (left.next >= 0) symbols_[static_cast<std::size_t>(left.next)].previous = candidate.at;
  for (const std::int32_t at : {left.previous, candidate.at}) {
    const std::size_t before = heap_.size();
    if (at >= 0) push(merges, at);
    if (heap_.size() != before) std::push_heap(heap_.begin(), heap_.end(), kGoesLater);
  }
}

void BytePairMerger::merge_long(const MergeTable& merges, std::vector<TokenId>& ids) {
  const auto count = static_cast<std::int32_t>(ids.size());
  symbols_.clear();
  heap_.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    symbols_.push_back({i - 1, i + 1 < count ? i + 1 : -1, ids[static_cast<std::size_t>(i)]});
  }
  for (std::int32_t i = 0; i < count; ++i) push(merges, i);
  std::make_heap(heap_.begin(), heap_.end(), kGoesLater);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), kGoesLater);
    const Candidate candidate = heap_.back();
    heap_.pop_back();
    const Symbol& left = symbols_[static_cast<std::size_t>(candidate.at)];
    if (left.id < 0 || left.next < 0) continue;
    const Merge now = merges.find(left.id, symbols_[static_cast<std::size_t>(left.next)].id);
    if (now.rank == candidate.rank) join(merges, candidate);
  }
  ids.clear();
  for (const Symbol& symbol : symbols_) {
    if (symbol.id >= 0) ids.push_back(symbol.id);
  }
}

}  // namespace parhelion::text
