#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace parhelion::serve {

/// Pages whose content is published: it never changes again, and sequences that begin with the same
/// tokens share it. A radix tree whose edges are the tokens of one page; a node is named by its
/// page. Tokens are compared, never hashes alone. Nothing is allocated after construction.
class PrefixTree {
 public:
  static constexpr std::int32_t kRoot = 0;  ///< the null page stands for the empty prefix

  PrefixTree(std::int64_t pages, std::int64_t page_tokens);

  /// What is published of a token sequence: whole pages, then the beginning of one more.
  struct Match {
    std::int64_t tokens = 0;  ///< in whole pages
    std::int32_t partial_page = -1;
    std::int64_t partial_tokens = 0;  ///< how many more `partial_page` has
  };

  /// The longest published prefix of `tokens` among those of `salt`. Appends its whole pages to
  /// `pages` and holds each, and the partial page too, until `release`.
  Match hold_match(std::uint64_t salt, std::span<const std::int32_t> tokens,
                   std::vector<std::int32_t>& pages);

  /// Publishes `page` behind `parent`, which is a whole page or kRoot. Returns the page that has
  /// these tokens from now on: `page`, or one that had them already. It is held.
  std::int32_t publish(std::uint64_t salt, std::int32_t parent,
                       std::span<const std::int32_t> tokens, std::int32_t page);

  /// Ends one hold. Holds of a page's ancestors must not end before its own.
  void release(std::int32_t page);

  /// Takes out the least recently used page that nobody holds and nothing stands behind.
  std::optional<std::int32_t> evict();

  std::int64_t published_count() const { return published_; }
  /// Pages that could be evicted, one after the other.
  std::int64_t unheld_count() const { return unheld_; }

  /// Errors: bug if counts, links or holds contradict each other.
  void audit() const;

 private:
  struct Node {
    std::uint64_t salt = 0;
    std::uint64_t last_use = 0;
    std::int32_t parent = -1;  // -1: not published
    std::int32_t next = -1;    // in its bucket
    std::int32_t token_count = 0;
    std::int32_t holds = 0;
    std::int32_t children = 0;
    bool in_heap = false;
  };
  struct Candidate {
    std::uint64_t last_use;
    std::int32_t page;
    bool operator<(const Candidate& other) const { return last_use > other.last_use; }
  };

  std::span<const std::int32_t> tokens_of(std::int32_t page) const;
  std::int32_t& bucket(std::uint64_t salt, std::int32_t parent, std::int32_t first_token);
  Node& node(std::int32_t page) { return nodes_[static_cast<std::size_t>(page)]; }
  const Node& node(std::int32_t page) const { return nodes_[static_cast<std::size_t>(page)]; }
  void hold(std::int32_t page);
  void offer(std::int32_t page);
  void unlink(std::int32_t page);

  std::int64_t page_tokens_;
  std::vector<Node> nodes_;            // by page
  std::vector<std::int32_t> tokens_;   // [pages, page_tokens]
  std::vector<std::int32_t> buckets_;  // first page of each chain, -1: none
  std::vector<Candidate> heap_;        // the oldest first; entries may be out of date
  mutable std::vector<std::int32_t> audited_children_;  // by page, of the last audit
  std::uint64_t clock_ = 0;
  std::int64_t published_ = 0;
  std::int64_t unheld_ = 0;
};

}  // namespace parhelion::serve
