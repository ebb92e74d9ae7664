#pragma once

#include <cstdint>
#include <vector>

namespace parhelion::serve {

/// The pages of a cache that no sequence holds. Page 0, the null page, is never given out.
class PagePool {
 public:
  explicit PagePool(std::int64_t pages);

  /// Appends `count` pages to `held`, or takes none.
  bool take(std::int64_t count, std::vector<std::int32_t>& held);

  /// Takes back all pages of `held` and empties it.
  void give_back(std::vector<std::int32_t>& held);

  void give_back(std::int32_t page) { free_.push_back(page); }

  std::int64_t free_count() const { return static_cast<std::int64_t>(free_.size()); }

 private:
  std::vector<std::int32_t> free_;  // last in, first out
};

}  // namespace parhelion::serve
