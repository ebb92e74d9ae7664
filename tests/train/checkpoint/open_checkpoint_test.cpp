#include "train/checkpoint/open_checkpoint.h"

#include "base/error.h"
#include "base/hash.h"
#include "train/checkpoint/checkpoint_directory.h"
#include "train/checkpoint/checkpoint_files.h"

#include <gmock/gmock.h>

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace parhelion::train {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<float> floats_of(const state::TensorView& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

class OpenCheckpointTest : public CheckpointFiles {
 protected:
  std::filesystem::path write(std::int64_t step) const {
    return write_checkpoint(JobAtStep(step).content(), store()).directory;
  }
  std::filesystem::path checkpoint(std::int64_t step) const {
    return directory_ / checkpoint_name(step);
  }
  std::int64_t newest_step(Verify verify = Verify::contents) const {
    return open_newest_checkpoint(directory_, verify)->manifest.facts.step;
  }
  /// Flips one bit of a file.
  void damage(const std::filesystem::path& path, std::size_t at) const {
    std::string text = read_file(path);
    text[at] = static_cast<char>(text[at] ^ 4);
    put(path, text);
  }
  /// The message that opening the checkpoint in `path` ends with.
  std::string problem(const std::filesystem::path& path, Verify verify) const try {
    open_train_checkpoint(path, verify);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
};

TEST_F(OpenCheckpointTest, GivesBackTensorsAndFacts) {
  const JobAtStep job(3);
  const WrittenCheckpoint written = write_checkpoint(job.content(), store());
  EXPECT_EQ(written.directory, directory_ / "step-00000003");
  EXPECT_THAT(listing(written.directory),
              ElementsAre("config.json", "manifest.json", "optimizer.safetensors",
                          "parameters.safetensors"));
  const TrainCheckpoint opened = open_train_checkpoint(written.directory, Verify::contents);
  EXPECT_EQ(opened.manifest.facts, job.content().facts);
  EXPECT_EQ(read_file(written.directory / "config.json"), "{\"a\":1}");
  const state::Checkpoint parameters = saved_parameters(opened);
  EXPECT_THAT(parameters.names(), ElementsAre("b", "w"));
  EXPECT_THAT(floats_of(parameters.at("w")), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(saved_optimizer(opened).names(), ElementsAre("w.first_moment", "w.second_moment"));
  std::int64_t bytes = 0;
  for (const FileRecord& file : opened.manifest.files) bytes += file.bytes;
  EXPECT_EQ(bytes, written.bytes);
}

TEST_F(OpenCheckpointTest, ShardsWhatPassesTheLimit) {
  CheckpointStore small = store();
  small.shard_bytes = 16;
  const auto path = write_checkpoint(JobAtStep(1).content(), small).directory;
  EXPECT_THAT(listing(path), testing::Contains("parameters-00002-of-00002.safetensors"));
  EXPECT_THAT(saved_parameters(open_train_checkpoint(path, Verify::contents)).names(),
              ElementsAre("w", "b"));
}

TEST_F(OpenCheckpointTest, AnOptimizerWithoutStateIsAnEmptySet) {
  const JobAtStep job(1);
  CheckpointContent content = job.content();
  content.optimizer.clear();
  const auto path = write_checkpoint(content, store()).directory;
  EXPECT_THAT(saved_optimizer(open_train_checkpoint(path, Verify::contents)).names(),
              ElementsAre());
}

TEST_F(OpenCheckpointTest, NamesEachFileThatIsCutShortAnywhere) {
  const auto path = write(1);
  for (const std::string& name : listing(path)) {
    const std::string whole = read_file(path / name);
    for (std::size_t length = 0; length + 1 < whole.size(); length += 7) {
      put(path / name, whole.substr(0, length));
      EXPECT_THAT(problem(path, Verify::sizes), HasSubstr(name)) << length;
      EXPECT_THAT([&] { open_newest_checkpoint(directory_, Verify::sizes); },
                  ThrowsMessage<Error>(HasSubstr("has no whole checkpoint, but 1 damaged one")));
    }
    put(path / name, whole);
  }
  EXPECT_EQ(problem(path, Verify::contents), "");
}

TEST_F(OpenCheckpointTest, NamesEachFileThatIsMissing) {
  const auto path = write(1);
  for (const std::string& name : listing(path)) {
    std::filesystem::rename(path / name, directory_ / "aside");
    EXPECT_THAT(problem(path, Verify::sizes), HasSubstr(name));
    std::filesystem::create_directory(path / name);
    EXPECT_THAT(problem(path, Verify::sizes), HasSubstr(name));
    std::filesystem::remove(path / name);
    std::filesystem::rename(directory_ / "aside", path / name);
  }
  EXPECT_EQ(problem(path, Verify::contents), "");
}

TEST_F(OpenCheckpointTest, ContentsFindEveryChangedByteAndSizesDoNotRead) {
  const auto path = write(1);
  for (const char* name : {"config.json", "optimizer.safetensors", "parameters.safetensors"}) {
    const std::size_t bytes = std::filesystem::file_size(path / name);
    for (std::size_t at = 0; at < bytes; at += 3) {
      damage(path / name, at);
      ASSERT_THAT(problem(path, Verify::contents),
                  HasSubstr(std::string(name) + ": its contents are damaged"));
      ASSERT_EQ(problem(path, Verify::sizes), "");
      damage(path / name, at);
    }
  }
}

TEST_F(OpenCheckpointTest, RefusesWhatWasNeverFinished) {
  put(checkpoint(4) / "parameters.safetensors", "x");
  EXPECT_EQ(problem(checkpoint(4), Verify::sizes),
            checkpoint(4).string() + ": has no manifest.json, so it is no finished checkpoint");
  EXPECT_FALSE(open_newest_checkpoint(directory_, Verify::contents).has_value());
}

TEST_F(OpenCheckpointTest, FallsBackToTheNewestThatIsWhole) {
  for (std::int64_t step = 1; step <= 4; ++step) write(step);
  EXPECT_EQ(newest_step(), 4);
  damage(checkpoint(4) / "parameters.safetensors", 200);
  std::filesystem::remove(checkpoint(3) / "optimizer.safetensors");
  testing::internal::CaptureStderr();
  EXPECT_EQ(newest_step(), 2);
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_THAT(warning, HasSubstr("DAMAGED CHECKPOINT"));
  EXPECT_THAT(warning, HasSubstr("step-00000004/parameters.safetensors: its contents are damaged"));
  EXPECT_THAT(warning, HasSubstr("step-00000003/optimizer.safetensors: is missing"));
  damage(checkpoint(2) / "manifest.json", 30);
  damage(checkpoint(1) / "manifest.json", 30);
  EXPECT_THAT(
      [&] { newest_step(); },
      ThrowsMessage<Error>(directory_.string() + ": has no whole checkpoint, but 4 damaged ones"));
}

TEST_F(OpenCheckpointTest, DoesNotPassOverACheckpointOfAnotherVersion) {
  write(1);
  Json::Object members{{"format", "parhelion-training-checkpoint"}, {"version", 9}};
  const std::string said = write_json(members);
  members.emplace_back("xxh128", hex(hash128(std::as_bytes(std::span(said)))));
  put(checkpoint(2) / "manifest.json", write_json(members));
  EXPECT_THAT([&] { newest_step(); },
              ThrowsMessage<Error>(HasSubstr("version is 9, this program reads version 1")));
}

TEST_F(OpenCheckpointTest, AFullDiskLeavesTheLastOneAndNothingElse) {
  write(1);
  const std::size_t needed = std::filesystem::file_size(checkpoint(1) / "manifest.json");
  for (std::size_t limit = 0; limit < needed; limit += 13) {
    const FullDisk full(limit);
    try {
      write(2);
      FAIL() << limit;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::exhausted) << error.what();
    }
    ASSERT_THAT(listing(directory_), ElementsAre("step-00000001")) << limit;
  }
  EXPECT_EQ(newest_step(), 1);
}

TEST_F(OpenCheckpointTest, RefusesModelFilesWithoutAPlainName) {
  for (const char* name : {"../config.json", "", "manifest.json"}) {
    CheckpointStore bad = store();
    bad.model_files = {{name, "x"}};
    EXPECT_THROW(write_checkpoint(JobAtStep(1).content(), bad), Error) << name;
  }
  EXPECT_THAT(listing(directory_), ElementsAre());
}

/// Saves one step after the other, as fast as it can, until it is killed.
[[noreturn]] void save_forever(const CheckpointStore& store, std::int64_t step) {
  while (true) {
    write_checkpoint(JobAtStep(++step, 1000).content(), store);
    remove_old_checkpoints(store.directory, store.keep);
  }
}

TEST_F(OpenCheckpointTest, AKillAtAnyMomentLeavesALoadableCheckpoint) {
  std::int64_t step = 0;
  write_checkpoint(JobAtStep(step, 1000).content(), store());
  for (int kill_count = 0; kill_count < 40; ++kill_count) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_forever(store(1), step);
    ::usleep(static_cast<useconds_t>(500 + 9973 * kill_count % 60'000));  // any moment is right
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto newest = open_newest_checkpoint(directory_, Verify::contents);
    ASSERT_TRUE(newest.has_value());
    ASSERT_GE(newest->manifest.facts.step, step);
    step = newest->manifest.facts.step;
    ASSERT_THAT(floats_of(saved_parameters(*newest).at("w")), Each(static_cast<float>(step)));
    remove_unfinished_checkpoints(directory_);
  }
  EXPECT_GT(step, 0) << "the child must have had time to save";
}

}  // namespace
}  // namespace parhelion::train
