#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace parhelion::serve {

/// Copies of pages that wait for the next step. They have the effect of being done one after the
/// other, in batches that keep the rule of ir::CopyPages: in a batch no page is the destination of
/// two copies, or of one and the source of another.
class PageCopies {
 public:
  using Copy = std::pair<std::int32_t, std::int32_t>;  ///< source, destination

  /// Of caches of `pages` pages, the null page with them. Asks for memory for `most` copies.
  PageCopies(std::int64_t pages, std::int64_t most);

  /// Errors: bug if the source is no page, or the destination none or the null page.
  void add(std::int32_t source, std::int32_t destination);

  bool empty() const { return copies_.empty(); }
  std::int64_t batch_count() const { return std::ssize(ends_); }
  std::span<const Copy> batch(std::int64_t index) const;
  void clear();

 private:
  struct Use {
    std::uint64_t read_in = 0, written_in = 0;  // numbers of batches
    std::size_t written_by = 0;                 // a copy's place
  };
  Use& use_of(std::int32_t page) { return uses_[static_cast<std::size_t>(page)]; }

  std::vector<Use> uses_;  // by page
  std::vector<Copy> copies_;
  std::vector<std::size_t> ends_;  // of batches, among the copies
  std::uint64_t batch_ = 1;        // number of the last batch; never used again
};

}  // namespace parhelion::serve
