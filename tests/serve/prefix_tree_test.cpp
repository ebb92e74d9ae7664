#include "serve/cache/prefix_tree.h"

#include "base/random.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

namespace parhelion::serve {
namespace {

using Tokens = std::vector<std::int32_t>;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kTreePages = 40;

/// Publishes `tokens` as pages of four from `first_page` on and holds none of them.
void publish_released(PrefixTree& tree, const Tokens& tokens, std::int32_t first_page,
                      std::uint64_t salt = 0) {
  std::vector<std::int32_t> held;
  std::int32_t parent = PrefixTree::kRoot;
  for (std::size_t at = 0; at < tokens.size(); at += 4) {
    const auto part = std::span(tokens).subspan(at, std::min<std::size_t>(4, tokens.size() - at));
    parent = tree.publish(salt, parent, part, first_page++);
    held.push_back(parent);
  }
  for (; !held.empty(); held.pop_back()) tree.release(held.back());
}

TEST(PrefixTree, FindsWholePagesAndTheBeginningOfOneMore) {
  PrefixTree tree(kTreePages, 4);
  publish_released(tree, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 1);
  std::vector<std::int32_t> pages;
  const auto match = tree.hold_match(0, Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12}, pages);
  EXPECT_THAT(pages, ElementsAre(1, 2));
  EXPECT_EQ(match.tokens, 8);
  EXPECT_EQ(match.partial_page, 3);
  EXPECT_EQ(match.partial_tokens, 1);
  tree.audit();
}

TEST(PrefixTree, PrefersThePageWithTheLongestCommonBeginning) {
  PrefixTree tree(kTreePages, 4);
  publish_released(tree, {1, 2}, 1);
  publish_released(tree, {1, 2, 3, 4}, 2);
  publish_released(tree, {1, 7, 3, 4}, 3);
  std::vector<std::int32_t> pages;
  const auto match = tree.hold_match(0, Tokens{1, 2, 3, 9}, pages);
  EXPECT_THAT(pages, IsEmpty());
  EXPECT_EQ(match.partial_page, 2);
  EXPECT_EQ(match.partial_tokens, 3);
}

TEST(PrefixTree, KeepsSaltsApart) {
  PrefixTree tree(kTreePages, 4);
  publish_released(tree, {1, 2, 3, 4}, 1, 7);
  std::vector<std::int32_t> pages;
  EXPECT_EQ(tree.hold_match(8, Tokens{1, 2, 3, 4}, pages).partial_page, -1);
  EXPECT_THAT(pages, IsEmpty());
  tree.hold_match(7, Tokens{1, 2, 3, 4}, pages);
  EXPECT_THAT(pages, ElementsAre(1));
}

TEST(PrefixTree, GivesThePageThatHadTheTokensFirst) {
  PrefixTree tree(kTreePages, 4);
  publish_released(tree, {1, 2, 3, 4}, 5);
  EXPECT_EQ(tree.publish(0, PrefixTree::kRoot, Tokens{1, 2, 3, 4}, 6), 5);
  EXPECT_EQ(tree.published_count(), 1);
  EXPECT_EQ(tree.unheld_count(), 0);
}

TEST(PrefixTree, EvictsTheLeastRecentlyUsedLeafFirst) {
  PrefixTree tree(kTreePages, 4);
  publish_released(tree, {1, 2, 3, 4, 5, 6, 7, 8}, 1);  // pages 1, 2
  publish_released(tree, {9, 9, 9, 9}, 3);
  std::vector<std::int32_t> pages;
  tree.hold_match(0, Tokens{1, 2, 3, 4}, pages);  // page 1 is used again
  EXPECT_EQ(tree.evict(), 2);
  EXPECT_EQ(tree.evict(), 3);
  EXPECT_EQ(tree.evict(), std::nullopt);  // page 1 is held
  tree.release(1);
  EXPECT_EQ(tree.evict(), 1);
  EXPECT_EQ(tree.published_count(), 0);
}

/// Every published page by salt and the tokens from the beginning to its end.
class OracleTree {
 public:
  std::int64_t longest(std::uint64_t salt, const Tokens& tokens) const {
    std::int64_t best = 0;
    for (const auto& [key, page] : pages_) {
      if (key.first != salt) continue;
      const auto common = std::ranges::mismatch(key.second, tokens).in1 - key.second.begin();
      best = std::max<std::int64_t>(best, common);
    }
    return best;
  }
  std::map<std::pair<std::uint64_t, Tokens>, std::int32_t> pages_;
};

TEST(PrefixTree, AgreesWithAListOfPrefixesUnderRandomUse) {
  PrefixTree tree(kTreePages, 4);
  OracleTree oracle;
  std::vector<std::int32_t> free;
  for (std::int32_t page = kTreePages - 1; page > 0; --page) free.push_back(page);
  std::uint64_t at = 0;
  const auto draw = [&](std::uint32_t limit) { return philox(3, at++, 0)[0] % limit; };
  for (int round = 0; round < 3000; ++round) {
    Tokens tokens(1 + draw(14));
    for (auto& token : tokens) token = static_cast<std::int32_t>(draw(3));
    const std::uint64_t salt = draw(2);
    std::vector<std::int32_t> held;
    const auto match = tree.hold_match(salt, tokens, held);
    ASSERT_EQ(match.tokens + match.partial_tokens, oracle.longest(salt, tokens)) << round;
    if (match.partial_page >= 0) tree.release(match.partial_page);
    for (auto first = static_cast<std::size_t>(match.tokens); first < tokens.size(); first += 4) {
      if (free.empty()) {
        const auto evicted = tree.evict();
        if (!evicted) break;
        std::erase_if(oracle.pages_, [&](const auto& entry) { return entry.second == *evicted; });
        free.push_back(*evicted);
      }
      const std::size_t last = std::min(first + 4, tokens.size());
      const std::int32_t parent = held.empty() ? PrefixTree::kRoot : held.back();
      const std::int32_t page =
          tree.publish(salt, parent, std::span(tokens).subspan(first, last - first), free.back());
      if (page == free.back()) {
        free.pop_back();
        oracle.pages_[{salt, Tokens(tokens.begin(), tokens.begin() + std::ptrdiff_t(last))}] = page;
      }
      held.push_back(page);
    }
    for (; !held.empty(); held.pop_back()) tree.release(held.back());
    tree.audit();
    ASSERT_EQ(tree.published_count() + std::ssize(free), kTreePages - 1);
  }
}

}  // namespace
}  // namespace parhelion::serve
