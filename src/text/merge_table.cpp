#include "text/merge_table.h"

#include "text/hash.h"

#include <algorithm>
#include <bit>

namespace parhelion::text {
namespace {

std::uint64_t pair_key(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(std::size_t merges)
    : slots_(std::bit_ceil(std::max<std::size_t>(merges + merges / 3 + 1, 16))) {}

std::size_t MergeTable::find_slot(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = mix_bits(pair) & mask;
  while (slots_[at].pair != pair && slots_[at].pair != kFree) at = (at + 1) & mask;
  return at;
}

void MergeTable::add(TokenId left, TokenId right, Merge merge) {
  if (4 * (count_ + 1) > 3 * slots_.size()) {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.pair != kFree) slots_[find_slot(slot.pair)] = slot;
    }
  }
  Slot& slot = slots_[find_slot(pair_key(left, right))];
  if (slot.pair == kFree) ++count_;
  slot = {pair_key(left, right), merge};
}

Merge MergeTable::find(TokenId left, TokenId right) const {
  return slots_[find_slot(pair_key(left, right))].merge;
}

}  // namespace parhelion::text
