#include "serve/cache/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace parhelion::serve {
namespace {

TEST(PagePool, NeverGivesTheNullPage) {
  PagePool pool(4);
  std::vector<std::int32_t> held;
  ASSERT_TRUE(pool.take(3, held));
  EXPECT_EQ(held, (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_FALSE(pool.take(1, held));
}

TEST(PagePool, TakesAllOrNothing) {
  PagePool pool(4);
  std::vector<std::int32_t> held;
  EXPECT_FALSE(pool.take(4, held));
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(pool.free_count(), 3);
}

TEST(PagePool, GivesTheLastReturnedPageFirst) {
  PagePool pool(5);
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
  ASSERT_TRUE(pool.take(2, first));
  ASSERT_TRUE(pool.take(2, second));
  pool.give_back(first);
  EXPECT_TRUE(first.empty());
  ASSERT_TRUE(pool.take(1, first));
  EXPECT_EQ(first.front(), 1);
}

}  // namespace
}  // namespace parhelion::serve
