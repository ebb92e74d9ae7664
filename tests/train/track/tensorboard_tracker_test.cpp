#include "train/track/tensorboard_tracker.h"

#include "base/error.h"
#include "base/file.h"
#include "train/track/event_record.h"
#include "train/track/tracker_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

/// Made by tests/golden/event_files.py, with the writer of the tensorboard package.
std::string golden(const std::string& name) {
  return read_file(std::filesystem::path(PARHELION_TEST_DATA) / "train" / name);
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(TensorboardTracker, WritesTheBytesOfTensorBoard) {
  const auto directory = empty_directory() / "tensorboard";
  const Json job = parse_json(
      R"({"optimizer": {"lr": 0.001, "kind": "adamw"}, "lora": {"targets": "a|b"}})", "job");
  const auto first = open_tensorboard_tracker(directory, job, 0, at_second(1735689600.5));
  first->record({0, at_second(1735689601.0), {{"loss", 2.5}, {"lr", 0.0}}});
  first->record({1, at_second(1735689602.0), {{"loss", 2.25}, {"lr", 0.001}}});
  first->record({2, at_second(1735689603.0), {{"loss", 7.0}, {"lr", 0.001}}});
  first->record({300,
                 at_second(1735689604.0),
                 {{"loss", std::nan("")}, {"lr", 0.001}, {"evaluation/loss", 1e-3}}});

  // The clock went back meanwhile, yet the file has to come behind the first.
  const auto resumed = open_tensorboard_tracker(directory, job, 2, at_second(1735689000.25));
  resumed->record({2, at_second(1735689000.5), {{"loss", 2.0}}});

  ASSERT_THAT(names_in(directory), ElementsAre("events.out.tfevents.1735689600.parhelion",
                                               "events.out.tfevents.1735689601.parhelion"));
  EXPECT_EQ(read_file(directory / names_in(directory)[0]), golden("first.tfevents"));
  EXPECT_EQ(read_file(directory / names_in(directory)[1]), golden("resumed.tfevents"));
}

TEST(TensorboardTracker, WritesNothingOfAStepWithoutFiniteValues) {
  EXPECT_EQ(scalars_record({3, at_second(1), {{"loss", INFINITY}}}), "");
  EXPECT_EQ(scalars_record({3, at_second(1), {}}), "");
}

TEST(TensorboardTracker, RefusesADirectoryThatCannotBeMade) {
  const auto directory = empty_directory();
  std::ofstream(directory / "file") << "x";
  EXPECT_THAT(
      [&] { open_tensorboard_tracker(directory / "file/tensorboard", {}, 0, at_second(1)); },
      ThrowsMessage<Error>(StrEq((directory / "file/tensorboard").string() +
                                 ": cannot make the directory: Not a directory")));
}

}  // namespace
}  // namespace parhelion::train
