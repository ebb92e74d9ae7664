#include "serve/cache/prefix_tree.h"

#include "base/error.h"

#include <algorithm>
#include <bit>

namespace parhelion::serve {
namespace {

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::int64_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

PrefixTree::PrefixTree(std::int64_t pages, std::int64_t page_tokens)
    : page_tokens_(page_tokens),
      nodes_(static_cast<std::size_t>(pages)),
      tokens_(static_cast<std::size_t>(pages * page_tokens)),
      buckets_(std::bit_ceil(static_cast<std::size_t>(2 * pages)), -1),
      audited_children_(static_cast<std::size_t>(pages)) {
  heap_.reserve(static_cast<std::size_t>(pages));
}

std::span<const std::int32_t> PrefixTree::tokens_of(std::int32_t page) const {
  return std::span(tokens_).subspan(
      static_cast<std::size_t>(page) * static_cast<std::size_t>(page_tokens_),
      static_cast<std::size_t>(node(page).token_count));
}

std::int32_t& PrefixTree::bucket(std::uint64_t salt, std::int32_t parent,
                                 std::int32_t first_token) {
  const auto key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(parent)) << 32) |
                   static_cast<std::uint32_t>(first_token);
  return buckets_[mixed(mixed(salt) ^ key) & (buckets_.size() - 1)];
}

void PrefixTree::hold(std::int32_t page) {
  if (node(page).holds++ == 0) --unheld_;
  node(page).last_use = clock_;
}

PrefixTree::Match PrefixTree::hold_match(std::uint64_t salt, std::span<const std::int32_t> tokens,
                                         std::vector<std::int32_t>& pages) {
  Match match;
  ++clock_;
  for (std::int32_t parent = kRoot; !tokens.empty();) {
    std::int32_t best = -1;
    std::int64_t best_tokens = 0;
    for (std::int32_t at = bucket(salt, parent, tokens.front()); at >= 0; at = node(at).next) {
      if (node(at).parent != parent || node(at).salt != salt) continue;
      const std::int64_t common = common_prefix(tokens_of(at), tokens);
      if (common > best_tokens) best = at, best_tokens = common;
    }
    if (best < 0) break;
    hold(best);
    if (best_tokens < page_tokens_) {
      match.partial_page = best;
      match.partial_tokens = best_tokens;
      break;
    }
    pages.push_back(best);
    match.tokens += page_tokens_;
    tokens = tokens.subspan(static_cast<std::size_t>(page_tokens_));
    parent = best;
  }
  return match;
}

std::int32_t PrefixTree::publish(std::uint64_t salt, std::int32_t parent,
                                 std::span<const std::int32_t> tokens, std::int32_t page) {
  ensure(node(page).parent < 0 && !tokens.empty(), ErrorKind::bug,
         "prefix tree: page {} is published already, or has no token", page);
  ++clock_;
  std::int32_t& first = bucket(salt, parent, tokens.front());
  for (std::int32_t at = first; at >= 0; at = node(at).next) {
    if (node(at).parent != parent || node(at).salt != salt) continue;
    if (!std::ranges::equal(tokens_of(at), tokens)) continue;
    hold(at);
    return at;
  }
  std::ranges::copy(tokens, tokens_.begin() + std::ptrdiff_t{page} * page_tokens_);
  node(page) = {.salt = salt,
                .last_use = clock_,
                .parent = parent,
                .next = first,
                .token_count = static_cast<std::int32_t>(tokens.size()),
                .holds = 1,
                .children = 0,
                .in_heap = node(page).in_heap};
  first = page;
  ++published_;
  if (parent != kRoot) ++node(parent).children;
  return page;
}

/// Lets a page be evicted when its turn comes, if nothing forbids it.
void PrefixTree::offer(std::int32_t page) {
  Node& it = node(page);
  if (it.holds > 0 || it.children > 0 || it.in_heap) return;
  it.in_heap = true;
  heap_.push_back({it.last_use, page});
  std::push_heap(heap_.begin(), heap_.end());
}

void PrefixTree::release(std::int32_t page) {
  Node& it = node(page);
  ensure(it.holds > 0, ErrorKind::bug, "prefix tree: page {} is released but nobody holds it",
         page);
  if (--it.holds > 0) return;
  ++unheld_;
  offer(page);
}

void PrefixTree::unlink(std::int32_t page) {
  std::int32_t* at = &bucket(node(page).salt, node(page).parent, tokens_of(page).front());
  while (*at != page) at = &node(*at).next;
  *at = node(page).next;
}

std::optional<std::int32_t> PrefixTree::evict() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate oldest = heap_.back();
    heap_.pop_back();
    Node& it = node(oldest.page);
    it.in_heap = false;
    if (it.parent < 0 || it.holds > 0 || it.children > 0) continue;
    if (it.last_use != oldest.last_use) {
      offer(oldest.page);
      continue;
    }
    unlink(oldest.page);
    const std::int32_t parent = it.parent;
    it = {};
    --published_;
    --unheld_;
    if (parent != kRoot && --node(parent).children == 0) offer(parent);
    return oldest.page;
  }
  return std::nullopt;
}

void PrefixTree::audit() const {
  std::int64_t published = 0;
  std::int64_t unheld = 0;
  std::vector<std::int32_t>& children = audited_children_;
  std::ranges::fill(children, 0);
  for (const Node& it : nodes_) {
    if (it.parent < 0) continue;
    ++published;
    if (it.holds == 0) ++unheld;
    if (it.parent == kRoot) continue;
    ++children[static_cast<std::size_t>(it.parent)];
    ensure(node(it.parent).parent >= 0 && node(it.parent).token_count == page_tokens_,
           ErrorKind::bug, "prefix tree: page {} is no whole published page but has a child",
           it.parent);
    ensure(it.holds == 0 || node(it.parent).holds > 0, ErrorKind::bug,
           "prefix tree: nobody holds page {} but its child is held", it.parent);
  }
  for (std::size_t page = 0; page < nodes_.size(); ++page) {
    ensure(nodes_[page].parent < 0 || nodes_[page].children == children[page], ErrorKind::bug,
           "prefix tree: page {} counts {} children, has {}", page, nodes_[page].children,
           children[page]);
  }
  ensure(published == published_ && unheld == unheld_, ErrorKind::bug,
         "prefix tree: counts {} published and {} unheld pages, has {} and {}", published_, unheld_,
         published, unheld);
}

}  // namespace parhelion::serve
