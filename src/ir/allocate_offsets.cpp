#include "ir/allocate_offsets.h"

#include "base/random.h"

#include <algorithm>
#include <numeric>

namespace parhelion::ir {
namespace {

/// Rounds of the search for each first order. Long programs get fewer, by comparisons of blocks.
constexpr std::int64_t kMostRounds = 24;
constexpr std::int64_t kCalmRounds = 6;  // before noise is added
constexpr std::int64_t kMostComparisons = 100'000'000;

using BlockOrder = bool (*)(const Block& a, const Block& b);

std::int64_t lifetime(const Block& block) { return block.last - block.first; }

bool larger_first(const Block& a, const Block& b) {
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  return lifetime(a) > lifetime(b);
}

bool longer_first(const Block& a, const Block& b) {
  if (lifetime(a) != lifetime(b)) return lifetime(a) > lifetime(b);
  return a.bytes > b.bytes;
}

bool earlier_first(const Block& a, const Block& b) {
  if (a.first != b.first) return a.first < b.first;
  return a.bytes > b.bytes;
}

bool live_together(const Block& a, const Block& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// The lowest gap among placed blocks, by ascending offset, that holds `block`.
std::int64_t lowest_gap(const std::vector<Block>& placed, const Block& block) {
  std::int64_t end = 0;
  for (const Block& other : placed) {
    if (!live_together(other, block)) continue;
    if (other.offset - end >= block.bytes) return end;
    end = std::max(end, other.offset + other.bytes);
  }
  return end;
}

/// Places blocks in an order, each as low as possible, and gives the peak.
std::int64_t place_in_order(std::vector<Block>& blocks, const std::vector<std::size_t>& order) {
  std::vector<Block> placed;
  placed.reserve(blocks.size());
  std::int64_t peak = 0;
  for (const std::size_t at : order) {
    Block& block = blocks[at];
    block.offset = lowest_gap(placed, block);
    peak = std::max(peak, block.offset + block.bytes);
    placed.insert(std::ranges::upper_bound(placed, block.offset, {}, &Block::offset), block);
  }
  return peak;
}

/// Makes blocks that passed the bound more urgent. After some rounds those that live beside them
/// are shuffled too, the same way each time, which leaves cycles.
void raise_urgency(const std::vector<Block>& blocks, std::int64_t bound, std::int64_t round,
                   std::vector<std::uint32_t>& urgency) {
  std::vector<Block> high;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].offset + blocks[i].bytes <= bound) continue;
    ++urgency[i];
    high.push_back(blocks[i]);
  }
  if (round < kCalmRounds) return;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto beside = std::ranges::count_if(
        high, [&](const Block& other) { return live_together(blocks[i], other); });
    if (beside == 0) continue;
    const std::uint32_t noise = philox(static_cast<std::uint64_t>(round), i, 0)[0] % 3;
    urgency[i] += static_cast<std::uint32_t>(beside) + noise;
  }
}

std::int64_t round_count(std::size_t block_count) {
  const auto count = static_cast<std::int64_t>(block_count);
  return std::clamp(kMostComparisons / (count * count + 1), std::int64_t{2}, kMostRounds);
}

std::int64_t peak_bytes(const std::vector<Block>& blocks) {
  std::int64_t peak = 0;
  for (const Block& block : blocks) peak = std::max(peak, block.offset + block.bytes);
  return peak;
}

/// Improves `best` by rounds of placing: urgent blocks first, then by `before`.
void search_offsets(std::vector<Block>& best, std::int64_t bound, BlockOrder before) {
  std::vector<Block> blocks = best;
  std::vector<std::uint32_t> urgency(blocks.size());
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::int64_t round = 0; round < round_count(blocks.size()); ++round) {
    if (peak_bytes(best) == bound) return;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      if (urgency[a] != urgency[b]) return urgency[a] > urgency[b];
      return before(blocks[a], blocks[b]);
    });
    if (place_in_order(blocks, order) < peak_bytes(best)) best = blocks;
    raise_urgency(blocks, bound, round, urgency);
  }
}

}  // namespace

std::int64_t most_live_bytes(const std::vector<Block>& blocks) {
  std::int64_t end = 0;
  for (const Block& block : blocks) end = std::max(end, block.last + 2);
  std::vector<std::int64_t> change(static_cast<std::size_t>(end));
  for (const Block& block : blocks) {
    change[static_cast<std::size_t>(block.first)] += block.bytes;
    change[static_cast<std::size_t>(block.last + 1)] -= block.bytes;
  }
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (const std::int64_t step : change) most = std::max(most, live += step);
  return most;
}

std::int64_t allocate_offsets(std::vector<Block>& blocks) {
  std::int64_t end = 0;
  for (Block& block : blocks) {  // one after the other, for a search to improve
    block.offset = end;
    end += block.bytes;
  }
  const std::int64_t bound = most_live_bytes(blocks);
  search_offsets(blocks, bound, larger_first);
  search_offsets(blocks, bound, longer_first);
  search_offsets(blocks, bound, earlier_first);
  return peak_bytes(blocks);
}

}  // namespace parhelion::ir
