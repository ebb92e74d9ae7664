#include "serve/flight_recorder.h"

#include <gtest/gtest.h>

namespace parhelion::serve {
namespace {

TEST(FlightRecorder, TellsWhatEachStepDid) {
  FlightRecorder recorder;
  const ServerCounts before{.steps = 4, .step_rows = 10, .drawn_tokens = 7};
  const ServerCounts after{
      .running = 2, .pages_free = 9, .steps = 5, .step_rows = 13, .drawn_tokens = 10};
  recorder.note(before, after, FlightRecorder::Clock::now());
  const std::vector<StepRecord> records = recorder.records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].number, 5);
  EXPECT_EQ(records[0].rows, 3);
  EXPECT_EQ(records[0].drawn_tokens, 3);
  EXPECT_EQ(records[0].running, 2);
  EXPECT_EQ(records[0].pages_free, 9);
  EXPECT_GE(records[0].begin_seconds, 0);
}

TEST(FlightRecorder, ForgetsTheOldest) {
  FlightRecorder recorder;
  EXPECT_TRUE(recorder.records().empty());
  for (std::int64_t i = 1; i <= kRecordedSteps + 3; ++i)
    recorder.note({}, {.steps = i}, FlightRecorder::Clock::now());
  const std::vector<StepRecord> records = recorder.records();
  ASSERT_EQ(std::ssize(records), kRecordedSteps);
  EXPECT_EQ(records.front().number, 4);
  EXPECT_EQ(records.back().number, kRecordedSteps + 3);
}

}  // namespace
}  // namespace parhelion::serve
