#include "serve/waiting_queue.h"

#include <gtest/gtest.h>

namespace parhelion::serve {
namespace {

class WaitingQueueTest : public testing::Test {
 protected:
  void add(std::uint64_t key) {
    auto sequence = std::make_unique<Sequence>();
    sequence->of = std::make_shared<RequestState>();
    sequence->of->request.fairness_key = key;
    sequence->submitted = now_;
    queue_.add(std::move(sequence));
  }
  /// Admits the first in turn, which costs so much, and says whose it was.
  std::uint64_t admit(double cost) {
    const auto sequence = queue_.admit(queue_.in_turn(now_).front());
    const std::uint64_t key = sequence->of->request.fairness_key;
    queue_.charge(key, cost);
    return key;
  }

  WaitingQueue::Clock::time_point now_ = {};
  WaitingQueue queue_{64, std::chrono::seconds(10)};
};

TEST_F(WaitingQueueTest, AKeyThatRanAloneIsNotStarvedByANewOne) {
  for (int i = 0; i < 10; ++i) {
    add(1);
    EXPECT_EQ(admit(100), 1u);  // nobody else was there
  }
  for (int i = 0; i < 4; ++i) add(2);
  add(1);
  EXPECT_EQ(admit(100), 2u);
  EXPECT_EQ(admit(100), 1u);
}

TEST_F(WaitingQueueTest, AKeyThatComesAgainSavedNoTurns) {
  add(1);
  admit(10);
  add(2);
  admit(500);
  add(3);
  add(1);
  add(1);
  EXPECT_EQ(admit(100), 3u);
  EXPECT_EQ(admit(100), 1u);
  add(3);
  EXPECT_EQ(admit(100), 1u);
  EXPECT_EQ(admit(100), 3u);
}

}  // namespace
}  // namespace parhelion::serve
