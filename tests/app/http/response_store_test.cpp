#include "app/http/response_store.h"

#include "base/error.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace parhelion::app {
namespace {

StoredResponse stored(const std::string& id, ResponseStatus status = ResponseStatus::completed,
                      SharedResponse previous = {}) {
  return {.id = id,
          .owner = "alice",
          .status = status,
          .is_background = true,
          .input = "[]",
          .body = std::string(1000, 'x'),
          .previous = std::move(previous)};
}

TEST(ResponseStore, KeepsNothingUnlessTold) {
  ResponseStore store({});
  EXPECT_FALSE(store.is_on());
  EXPECT_FALSE(store.add(stored("a")));
  EXPECT_EQ(store.find("a", "alice"), nullptr);
}

TEST(ResponseStore, ShowsAResponseToItsOwnerOnly) {
  ResponseStore store({.responses = 2});
  ASSERT_TRUE(store.add(stored("a")));
  EXPECT_EQ(store.find("a", "alice")->id, "a");
  EXPECT_EQ(store.find("a", "bob"), nullptr);
  EXPECT_FALSE(store.erase("a", "bob"));
  EXPECT_TRUE(store.erase("a", "alice"));
  EXPECT_EQ(store.counts().bytes, 0);
}

TEST(ResponseStore, DropsTheOldestBeyondItsNumber) {
  ResponseStore store({.responses = 2});
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(store.add(stored(id)));
  EXPECT_EQ(store.find("a", "alice"), nullptr);
  EXPECT_NE(store.find("b", "alice"), nullptr);
  EXPECT_EQ(store.counts().evicted, 1);
}

TEST(ResponseStore, DropsTheOldestBeyondItsBytes) {
  ResponseStore store({.responses = 100, .bytes = 2 * stored("a").bytes()});
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(store.add(stored(id)));
  EXPECT_EQ(store.counts().responses, 2);
  EXPECT_LE(store.counts().bytes, store.limits().bytes);
  EXPECT_EQ(store.find("a", "alice"), nullptr);
}

TEST(ResponseStore, NeverDropsForOneThatCouldNotFitAtAll) {
  ResponseStore store({.responses = 100, .bytes = 2 * stored("a").bytes()});
  ASSERT_TRUE(store.add(stored("a")));
  StoredResponse large = stored("b");
  large.body.resize(1 << 20);
  EXPECT_FALSE(store.could_hold(large));
  EXPECT_FALSE(store.add(std::move(large)));
  EXPECT_NE(store.find("a", "alice"), nullptr);
}

TEST(ResponseStore, CountsWhatLaterResponsesHold) {
  const std::int64_t each = stored("a").bytes();
  ResponseStore store({.responses = 2, .bytes = 3 * each});
  ASSERT_TRUE(store.add(stored("a")));
  ASSERT_TRUE(store.add(stored("b", ResponseStatus::completed, store.find("a", "alice"))));
  ASSERT_TRUE(store.add(stored("c", ResponseStatus::completed, store.find("b", "alice"))));
  EXPECT_EQ(store.find("a", "alice"), nullptr);
  EXPECT_EQ(store.counts().bytes, 3 * each);
  EXPECT_FALSE(store.could_hold(stored("d", ResponseStatus::completed, store.find("c", "alice"))));
  // There is no room before the whole conversation is gone.
  EXPECT_TRUE(store.add(stored("d")));
  EXPECT_EQ(store.find("c", "alice"), nullptr);
  EXPECT_EQ(store.counts().bytes, each);
}

TEST(ResponseStore, HoldsOnToWhatIsNotOver) {
  ResponseStore store({.responses = 2});
  ASSERT_TRUE(store.add(stored("a", ResponseStatus::queued)));
  ASSERT_TRUE(store.add(stored("b", ResponseStatus::in_progress)));
  EXPECT_FALSE(store.add(stored("c")));
  EXPECT_FALSE(store.erase("a", "alice"));
  EXPECT_TRUE(store.replace(stored("a")));
  EXPECT_TRUE(store.add(stored("c")));
  EXPECT_EQ(store.find("a", "alice"), nullptr);
  EXPECT_NE(store.find("b", "alice"), nullptr);
}

TEST(ResponseStore, ChangesNothingThatIsOver) {
  ResponseStore store({.responses = 2});
  ASSERT_TRUE(store.add(stored("a", ResponseStatus::cancelled)));
  EXPECT_FALSE(store.replace(stored("a")));
  store.abandon("a");
  EXPECT_EQ(store.find("a", "alice")->status, ResponseStatus::cancelled);
  EXPECT_FALSE(store.replace(stored("b")));
}

TEST(ResponseRecord, ForgetsWhatEndsUnfinished) {
  ResponseStore store({.responses = 2});
  {
    ResponseRecord record(store, stored("a"));
    record.update(ResponseStatus::queued, "{}");
    EXPECT_NE(store.find("a", "alice"), nullptr);
  }
  EXPECT_EQ(store.find("a", "alice"), nullptr);
}

TEST(ResponseRecord, NeedsRoomForOneInTheBackground) {
  ResponseStore store({.responses = 1});
  ASSERT_TRUE(store.add(stored("a", ResponseStatus::queued)));
  ResponseRecord record(store, stored("b"));
  EXPECT_THROW(record.update(ResponseStatus::queued, "{}"), Error);
}

}  // namespace
}  // namespace parhelion::app
