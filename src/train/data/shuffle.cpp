#include "train/data/shuffle.h"

#include "base/random.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace parhelion::train {

std::vector<std::int64_t> shuffled_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch,
                                         Shuffled what) {
  constexpr std::uint64_t kTag = 0x6461746100000000;  // "data": apart from other uses of the seed
  const std::uint64_t tag = kTag + static_cast<std::uint64_t>(epoch) * 2 +
                            static_cast<std::uint64_t>(what == Shuffled::microbatches);
  std::vector<std::pair<std::uint64_t, std::int64_t>> keys;
  keys.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto word = philox(seed, static_cast<std::uint64_t>(i), tag);
    keys.emplace_back(std::uint64_t{word[1]} << 32 | word[0], i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::int64_t> order;
  order.reserve(keys.size());
  for (const auto& [key, index] : keys) order.push_back(index);
  return order;
}

std::vector<std::int64_t> given_order(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

}  // namespace parhelion::train
