#include "serve/cache/page_pool.h"

namespace parhelion::serve {

PagePool::PagePool(std::int64_t pages) {
  free_.reserve(static_cast<std::size_t>(pages));
  for (auto page = static_cast<std::int32_t>(pages - 1); page >= 1; --page) free_.push_back(page);
}

bool PagePool::take(std::int64_t count, std::vector<std::int32_t>& held) {
  if (count > free_count()) return false;
  for (; count > 0; --count) {
    held.push_back(free_.back());
    free_.pop_back();
  }
  return true;
}

void PagePool::give_back(std::vector<std::int32_t>& held) {
  for (; !held.empty(); held.pop_back()) free_.push_back(held.back());
}

}  // namespace parhelion::serve
