#include "train/track/jsonl_tracker.h"

#include "base/file.h"
#include "train/track/tracker_support.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace parhelion::train {
namespace {

StepRecord record_of(std::int64_t step) { return {step, at_second(100.5), {{"loss", 2.5}}}; }

std::string line_of(std::int64_t step) { return jsonl_line(record_of(step)) + "\n"; }

TEST(JsonlTracker, WritesAnObjectAStep) {
  EXPECT_EQ(
      jsonl_line({12, at_second(1735689600.123456), {{"loss", 2.5}, {"evaluation/loss", 3.0}}}),
      R"({"step":12,"time":1735689600.123456,"loss":2.5,"evaluation/loss":3.0})");
}

TEST(JsonlTracker, NamesValuesThatAreNotFinite) {
  EXPECT_EQ(
      jsonl_line({1, at_second(0), {{"loss", std::nan("")}, {"lr", 1.0}, {"norm", INFINITY}}}),
      R"({"step":1,"time":0.0,"loss":null,"lr":1.0,"norm":null,"nonfinite":["loss","norm"]})");
}

TEST(JsonlTracker, ShowsEachLineAtOnce) {
  const auto file = empty_directory() / "metrics.jsonl";
  const auto tracker = open_jsonl_tracker(file, 0);
  tracker->record(record_of(0));
  EXPECT_EQ(read_file(file), line_of(0));
  tracker->record(record_of(1));
  EXPECT_EQ(read_file(file), line_of(0) + line_of(1));
}

TEST(JsonlTracker, RemovesStepsThatAreDoneAgain) {
  const auto file = empty_directory() / "metrics.jsonl";
  for (std::int64_t step = 0; step < 12; ++step)
    open_jsonl_tracker(file, step)->record(record_of(step));
  open_jsonl_tracker(file, 2)->record(record_of(2));
  EXPECT_EQ(read_file(file), line_of(0) + line_of(1) + line_of(2));
  open_jsonl_tracker(file, 0);
  EXPECT_EQ(read_file(file), "");
}

TEST(JsonlTracker, RemovesWhatIsNoRecord) {
  const auto file = empty_directory() / "metrics.jsonl";
  std::ofstream(file) << line_of(0) << "text\n" << line_of(1) << line_of(2).substr(0, 20);
  open_jsonl_tracker(file, 9)->record(record_of(9));
  EXPECT_EQ(read_file(file), line_of(0) + line_of(1) + line_of(9));
}

}  // namespace
}  // namespace parhelion::train
