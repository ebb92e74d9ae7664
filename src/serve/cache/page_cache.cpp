#include "serve/cache/page_cache.h"

#include "base/error.h"

#include <algorithm>

namespace parhelion::serve {
namespace {

std::int32_t parent_of(const HeldPages& held) {
  return held.published == 0 ? PrefixTree::kRoot
                             : held.pages[static_cast<std::size_t>(held.published - 1)];
}

}  // namespace

PageCache::PageCache(std::int64_t pages, std::int64_t page_tokens)
    : page_tokens_(page_tokens), total_(pages - 1), pool_(pages), tree_(pages, page_tokens) {}

std::int64_t PageCache::pages_for(std::int64_t tokens) const {
  return (tokens + page_tokens_ - 1) / page_tokens_;
}

PrefixTree::Match PageCache::hold_match(std::uint64_t salt, std::span<const std::int32_t> tokens,
                                        HeldPages& held) {
  const PrefixTree::Match match = tree_.hold_match(salt, tokens, held.pages);
  held.published = std::ssize(held.pages);
  return match;
}

bool PageCache::promise(std::int64_t count, HeldPages& held) {
  if (count > available_count()) return false;
  promised_ += count;
  held.promised += count;
  return true;
}

bool PageCache::grow(std::int64_t count, HeldPages& held) {
  const std::int64_t missing = count - std::ssize(held.pages);
  if (missing <= 0) return true;
  if (missing > available_count() + held.promised) return false;
  for (std::int64_t i = pool_.free_count(); i < missing; ++i) {
    const std::optional<std::int32_t> page = tree_.evict();
    ensure(page.has_value(), ErrorKind::bug, "page cache: no page is left of {} unheld ones",
           tree_.unheld_count());
    pool_.give_back(*page);
    ++evicted_;
  }
  const std::int64_t kept_back = std::min(missing, held.promised);
  held.promised -= kept_back;
  promised_ -= kept_back;
  return pool_.take(missing, held.pages);
}

void PageCache::publish(std::uint64_t salt, std::span<const std::int32_t> tokens,
                        std::int64_t consumed, HeldPages& held) {
  while ((held.published + 1) * page_tokens_ <= consumed) {
    std::int32_t& page = held.pages[static_cast<std::size_t>(held.published)];
    const auto part = tokens.subspan(static_cast<std::size_t>(held.published * page_tokens_),
                                     static_cast<std::size_t>(page_tokens_));
    const std::int32_t kept = tree_.publish(salt, parent_of(held), part, page);
    if (kept != page) pool_.give_back(page);
    page = kept;
    ++held.published;
  }
}

void PageCache::publish_all(std::uint64_t salt, std::span<const std::int32_t> tokens,
                            std::int64_t consumed, HeldPages& held) {
  publish(salt, tokens, consumed, held);
  const std::int64_t first = held.published * page_tokens_;
  if (first >= consumed) return;
  std::int32_t& page = held.pages[static_cast<std::size_t>(held.published)];
  const auto part =
      tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(consumed - first));
  const std::int32_t kept = tree_.publish(salt, parent_of(held), part, page);
  if (kept != page) pool_.give_back(page);
  page = kept;
  ++held.published;
}

void PageCache::release(HeldPages& held) {
  while (std::ssize(held.pages) > held.published) {
    pool_.give_back(held.pages.back());
    held.pages.pop_back();
  }
  for (; !held.pages.empty(); held.pages.pop_back()) tree_.release(held.pages.back());
  held.published = 0;
  promised_ -= held.promised;
  held.promised = 0;
}

void PageCache::reset() {
  for (auto page = tree_.evict(); page; page = tree_.evict()) pool_.give_back(*page);
}

void PageCache::audit(std::int64_t own) const {
  tree_.audit();
  ensure(pool_.free_count() + tree_.published_count() + own == total_, ErrorKind::bug,
         "page cache: {} free, {} published and {} own pages are not the {} there are",
         pool_.free_count(), tree_.published_count(), own, total_);
  ensure(promised_ >= 0 && promised_ <= free_count() + cached_count(), ErrorKind::bug,
         "page cache: {} pages are promised, {} are free and {} cached", promised_, free_count(),
         cached_count());
}

}  // namespace parhelion::serve
