#pragma once

#include "contract/contract.h"
#include "serve/cache/page_pool.h"
#include "serve/cache/prefix_tree.h"

#include <cstdint>
#include <span>
#include <vector>

namespace parhelion::serve {

/// The pages of one sequence, in the order of its positions: first published ones, which it holds,
/// then its own.
struct HeldPages {
  std::vector<std::int32_t> pages = {};
  std::int64_t published = 0;  ///< how many of them are published
  std::int64_t promised = 0;   ///< how many more are kept back for it
};

/// Who has which page: free, published, or a sequence's own. Free and published pages that nobody
/// holds are what new tokens can take; a promise keeps as many of them back for one sequence.
class PageCache {
 public:
  PageCache(std::int64_t pages, std::int64_t page_tokens);

  std::int64_t pages_for(std::int64_t tokens) const;

  /// Holds the longest published prefix of `tokens`.
  PrefixTree::Match hold_match(std::uint64_t salt, std::span<const std::int32_t> tokens,
                               HeldPages& held);
  void release_partial(std::int32_t page) { tree_.release(page); }

  /// Keeps `count` pages back for a sequence. False: there are not so many that no one holds or was
  /// promised.
  bool promise(std::int64_t count, HeldPages& held);

  /// Gives a sequence pages of its own until it has `count` in all, promised ones first: published
  /// pages are evicted if none is free. False: there are too few, and none is given.
  bool grow(std::int64_t count, HeldPages& held);

  /// Publishes the whole pages among the first `consumed` tokens of a sequence. Where others have
  /// published the same tokens, the sequence goes on with their page.
  void publish(std::uint64_t salt, std::span<const std::int32_t> tokens, std::int64_t consumed,
               HeldPages& held);

  /// As publish, with the beginning of the last page.
  void publish_all(std::uint64_t salt, std::span<const std::int32_t> tokens, std::int64_t consumed,
                   HeldPages& held);

  /// Ends every hold and promise, and gives the sequence's own pages back. Own pages that a step
  /// wrote can be given to others at once, because steps follow each other.
  void release(HeldPages& held);

  std::int64_t total_count() const { return total_; }
  std::int64_t free_count() const { return pool_.free_count(); }
  std::int64_t cached_count() const { return tree_.unheld_count(); }
  std::int64_t available_count() const { return free_count() + cached_count() - promised_; }
  std::int64_t evicted_count() const { return evicted_; }

  /// Drops every published page that nobody holds.
  void reset();

  /// `own` is how many pages all sequences have of their own.
  ///
  /// Errors: bug if free, published and own pages are not all there are.
  void audit(std::int64_t own) const;

 private:
  std::int64_t page_tokens_;
  std::int64_t total_;
  std::int64_t promised_ = 0;
  std::int64_t evicted_ = 0;
  PagePool pool_;
  PrefixTree tree_;
};

}  // namespace parhelion::serve
