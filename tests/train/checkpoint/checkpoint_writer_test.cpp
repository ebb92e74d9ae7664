#include "train/checkpoint/checkpoint_writer.h"

#include "base/error.h"
#include "train/checkpoint/checkpoint_directory.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/open_checkpoint.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <future>
#include <thread>
#include <unistd.h>

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

class CheckpointWriterTest : public CheckpointFiles {
 protected:
  float saved_value(std::int64_t step) const {
    const auto opened = open_train_checkpoint(directory_ / checkpoint_name(step), Verify::contents);
    const state::Checkpoint parameters = saved_parameters(opened);
    float value = 0;
    std::memcpy(&value, parameters.at("w").bytes.data(), sizeof value);
    return value;
  }
};

/// Bytes of this process in memory that no file backs.
std::int64_t own_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0, shared = 0;
  file >> size >> resident >> shared;
  return (resident - shared) * ::sysconf(_SC_PAGESIZE);
}

/// Saves a small job at `step` and waits for the end.
SaveReport save_step(CheckpointWriter& writer, std::int64_t step) {
  const JobAtStep job(step);
  writer.begin(snapshot_of(job.content()));
  writer.wait_snapshot();
  return writer.close().at(0);
}

/// Polls until a save ends.
std::vector<SaveReport> poll_until_ended(CheckpointWriter& writer) {
  while (true) {
    std::vector<SaveReport> reports = writer.poll();
    if (!reports.empty()) return reports;
    std::this_thread::yield();
  }
}

TEST_F(CheckpointWriterTest, SavesWhatWasThereAtBegin) {
  CheckpointWriter writer(store());
  JobAtStep job(5);
  writer.begin(snapshot_of(job.content()));
  writer.wait_snapshot();
  std::ranges::fill(job.values(), -1.0f);
  const std::vector<SaveReport> reports = poll_until_ended(writer);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].step, 5);
  EXPECT_EQ(reports[0].written->directory, directory_ / "step-00000005");
  EXPECT_THAT(reports[0].warnings, IsEmpty());
  EXPECT_GT(reports[0].snapshot, 0ns);
  EXPECT_GT(reports[0].write, 0ns);
  EXPECT_EQ(saved_value(5), 5.0f);
  EXPECT_THAT(writer.poll(), IsEmpty());
}

TEST_F(CheckpointWriterTest, ASecondBeginWaitsForTheFirst) {
  CheckpointWriter writer(store());
  const JobAtStep first(1, 1 << 20), second(2);
  writer.begin(snapshot_of(first.content()));
  writer.begin(snapshot_of(second.content()));
  EXPECT_EQ(saved_value(1), 1.0f);
  const std::vector<SaveReport> reports = writer.close();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].step, 1);
  EXPECT_EQ(reports[1].step, 2);
  EXPECT_GE(reports[1].stall + 1ms, reports[0].write) << "waiting for the first is a stall";
  EXPECT_EQ(saved_value(2), 2.0f);
}

TEST_F(CheckpointWriterTest, DoesNotWaitForCopiesOfWhatIsApart) {
  CheckpointWriter writer(store());
  const JobAtStep job(5);
  Snapshot snapshot = snapshot_of(job.content());
  snapshot.is_apart = true;
  std::promise<void> may_copy;
  const std::shared_future<void> waits = may_copy.get_future().share();
  snapshot.parameters.front().copy = [copy = snapshot.parameters.front().copy,
                                      waits](std::span<std::byte> out) {
    waits.wait();
    copy(out);
  };
  writer.begin(std::move(snapshot));
  writer.wait_snapshot();  // would never return if it waited for the copies
  may_copy.set_value();
  EXPECT_TRUE(writer.close().at(0).written.has_value());
  EXPECT_EQ(saved_value(5), 5.0f);
}

TEST_F(CheckpointWriterTest, WaitsForNothingWithoutASave) {
  CheckpointWriter writer(store());
  writer.wait_snapshot();
  EXPECT_THAT(writer.poll(), IsEmpty());
  EXPECT_THAT(writer.close(), IsEmpty());
}

TEST_F(CheckpointWriterTest, KeepsTheNewestAfterEachSave) {
  CheckpointWriter writer(store(2));
  for (std::int64_t step = 1; step <= 4; ++step) save_step(writer, step);
  EXPECT_THAT(listing(directory_), ElementsAre("step-00000003", "step-00000004"));
}

TEST_F(CheckpointWriterTest, AFailureIsAWarningAndTheNextSaveSucceeds) {
  CheckpointWriter writer(store(1));
  save_step(writer, 1);
  {
    const FullDisk full(10);
    const SaveReport report = save_step(writer, 2);
    EXPECT_FALSE(report.written.has_value());
    EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("cannot write: File too large")));
  }
  EXPECT_THAT(listing(directory_), ElementsAre("step-00000001"));
  EXPECT_EQ(saved_value(1), 1.0f);
  EXPECT_THAT(save_step(writer, 3).warnings, IsEmpty());
  EXPECT_THAT(listing(directory_), ElementsAre("step-00000003"));
}

TEST_F(CheckpointWriterTest, GivesTheCopyBackOnceItIsWritten) {
  constexpr std::int64_t kElements = 4 << 20;  // 4 tensors of 16 MiB
  CheckpointWriter writer(store());
  const JobAtStep job(1, kElements);
  const std::int64_t before = own_bytes();
  writer.begin(snapshot_of(job.content()));
  writer.wait_snapshot();
  EXPECT_GT(own_bytes() - before, 48 << 20);
  EXPECT_THAT(writer.close().at(0).warnings, IsEmpty());
  EXPECT_LT(own_bytes() - before, 8 << 20);
}

TEST_F(CheckpointWriterTest, TheDestructorWaitsAndLogsWhatNobodyPolled) {
  testing::internal::CaptureStderr();
  {
    CheckpointStore bad = store();
    bad.model_files = {{"../x", ""}};
    const JobAtStep job(2);
    CheckpointWriter writer(bad);
    writer.begin(snapshot_of(job.content()));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("checkpoint of step 2: '../x' is no name"));
  EXPECT_THAT(listing(directory_), IsEmpty());
}

}  // namespace
}  // namespace parhelion::train
