#include "train/data/prefetcher.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <semaphore>

namespace parhelion::train {
namespace {

using testing::ThrowsMessage;

Pack numbered_pack(std::int64_t number) { return {.microbatches = {}, .after = {0, number}}; }

/// Packs 1 to `count`, then `end`.
Prefetcher::Source counting_source(
    std::int64_t count, const Prefetcher::Source& end = [] { return std::nullopt; }) {
  return [count, end, made = std::int64_t{0}]() mutable -> std::optional<Pack> {
    if (made == count) return end();
    return numbered_pack(++made);
  };
}

TEST(Prefetcher, GivesThePacksOfItsSourceInOrder) {
  for (const std::int64_t ahead : {0, 1, 2, 7, 100}) {
    Prefetcher prefetcher(counting_source(20), ahead);
    for (std::int64_t i = 1; i <= 20; ++i) {
      const auto pack = prefetcher.next();
      ASSERT_TRUE(pack);
      EXPECT_EQ(pack->after.microbatch, i);
    }
    EXPECT_FALSE(prefetcher.next());
    EXPECT_FALSE(prefetcher.next());
  }
}

TEST(Prefetcher, MakesPacksAheadAndNoMoreThanIsAllowed) {
  std::atomic<int> made = 0;
  std::counting_semaphore<> makes(0);
  const auto source = [&]() -> std::optional<Pack> {
    const int number = ++made;
    makes.release();
    return numbered_pack(number);
  };
  Prefetcher prefetcher(source, 3);
  for (int i = 0; i < 3; ++i) makes.acquire();  // nobody has asked yet
  for (int taken = 1; taken <= 50; ++taken) {
    ASSERT_EQ(prefetcher.next()->after.microbatch, taken);
    EXPECT_LE(made, taken + 3);
    makes.acquire();
  }
}

TEST(Prefetcher, CallsItsSourceWhenItIsAskedIfNothingIsMadeAhead) {
  int made = 0;
  Prefetcher prefetcher([&]() -> std::optional<Pack> { return numbered_pack(++made); }, 0);
  EXPECT_EQ(made, 0);
  prefetcher.next();
  EXPECT_EQ(made, 1);
}

TEST(Prefetcher, HandsOverAnErrorBehindThePacksBeforeIt) {
  for (const std::int64_t ahead : {0, 1, 5}) {
    Prefetcher prefetcher(
        counting_source(
            2, []() -> std::optional<Pack> { fail(ErrorKind::corrupt, "tokens: are gone"); }),
        ahead);
    EXPECT_TRUE(prefetcher.next());
    EXPECT_TRUE(prefetcher.next());
    EXPECT_THAT([&] { prefetcher.next(); }, ThrowsMessage<Error>("tokens: are gone"));
    EXPECT_THAT([&] { prefetcher.next(); }, ThrowsMessage<Error>("tokens: are gone"));
  }
}

TEST(Prefetcher, ClosesWhileItsThreadWaitsForRoom) {
  for (int i = 0; i < 200; ++i) {
    Prefetcher prefetcher(counting_source(1000), 1);
    if (i % 2 == 0) prefetcher.next();
  }
}

TEST(Prefetcher, ClosesAfterThePackThatIsBeingMade) {
  std::promise<void> began;
  std::promise<void> may_end;
  std::atomic<int> made = 0;
  auto prefetcher = std::make_unique<Prefetcher>(
      [&]() -> std::optional<Pack> {
        began.set_value();
        may_end.get_future().wait();
        return numbered_pack(++made);
      },
      1);
  began.get_future().wait();
  std::jthread closer([&] { prefetcher.reset(); });
  may_end.set_value();
  closer.join();
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace parhelion::train
