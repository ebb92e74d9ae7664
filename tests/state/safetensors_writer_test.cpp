#include "state/safetensors_writer.h"

#include "base/error.h"
#include "base/json.h"
#include "state/checkpoint.h"
#include "state/test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

namespace parhelion::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// A tensor of bytes that lie in `text`.
TensorView text_tensor(std::string name, std::string_view text) {
  return {std::move(name),
          ir::Kind::u8,
          {static_cast<std::int64_t>(text.size())},
          as_bytes(text),
          nullptr};
}

/// Limits the size of files this process writes, as a disk would that fills up at this byte.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

class SafetensorsWriterTest : public StateFiles {
 protected:
  std::vector<std::string> listing(const std::filesystem::path& directory) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  /// Makes the device that is always full stand where `name` is written before its rename.
  void fill_disk_at(const std::string& name) const {
    std::filesystem::create_symlink("/dev/full",
                                    directory_ / (name + ".partial." + std::to_string(::getpid())));
  }
  /// Saves two shards of one tensor each; true if that succeeds.
  bool save_two_shards(const std::filesystem::path& directory) const {
    try {
      SafetensorsWriter writer(directory, 4);
      writer.add(text_tensor("a", "aaaa"));
      writer.add(text_tensor("b", "bbbb"));
      writer.finish();
      return true;
    } catch (const Error& error) {
      error_ = error;
      return false;
    }
  }

  mutable Error error_{ErrorKind::bug, "nothing was thrown"};
};

TEST_F(SafetensorsWriterTest, OneFileReadsBackEveryKind) {
  const std::string bytes(24, 'x');
  std::vector<TensorView> tensors;
  for (const ir::Kind kind :
       {ir::Kind::f64, ir::Kind::f32, ir::Kind::f16, ir::Kind::bf16, ir::Kind::i64, ir::Kind::i32,
        ir::Kind::i8, ir::Kind::u64, ir::Kind::u8, ir::Kind::bool8}) {
    const std::int64_t columns = 24 / ir::element(kind).block_bytes / 3;
    tensors.push_back({std::string(ir::name(kind)), kind, {3, columns}, as_bytes(bytes), nullptr});
  }
  write_safetensors(directory_ / "f", tensors);
  const Checkpoint checkpoint = open_checkpoint(directory_ / "f");
  ASSERT_EQ(checkpoint.tensors().size(), tensors.size());
  for (const TensorView& tensor : tensors) {
    EXPECT_EQ(checkpoint.at(tensor.name).kind, tensor.kind);
    EXPECT_EQ(checkpoint.at(tensor.name).shape, tensor.shape);
    EXPECT_EQ(as_text(checkpoint.at(tensor.name).bytes), bytes);
  }
}

TEST_F(SafetensorsWriterTest, AlignsEveryTensorWhateverTheOrder) {
  const std::string bytes(8, 'x');
  std::vector<TensorView> tensors = {
      text_tensor("odd", "xxx"),
      {"wide", ir::Kind::f64, {1}, as_bytes(bytes), nullptr},
      {"half", ir::Kind::bf16, {1}, as_bytes(bytes).first(2), nullptr},
      {"single", ir::Kind::f32, {}, as_bytes(bytes).first(4), nullptr}};
  write_safetensors(directory_ / "f", tensors);
  const Checkpoint checkpoint = open_checkpoint(directory_ / "f");
  EXPECT_THAT(checkpoint.names(), ElementsAre("wide", "single", "half", "odd"));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(checkpoint.at("wide").bytes.data()) % 64, 0u);
  std::ranges::reverse(tensors);
  write_safetensors(directory_ / "g", tensors);
  EXPECT_EQ(read_file(directory_ / "f"), read_file(directory_ / "g"));
}

TEST_F(SafetensorsWriterTest, SplitsAtTheLimitAndGivesALargeTensorItsOwnShard) {
  SafetensorsWriter writer(directory_ / "out", 8);
  writer.add(text_tensor("a", "aaaa"));
  writer.add(text_tensor("b", "bbbb"));
  writer.add(text_tensor("c", "cccccccccccc"));
  writer.add(text_tensor("d", ""));
  writer.finish();
  EXPECT_THAT(listing(directory_ / "out"),
              ElementsAre("model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                          "model-00003-of-00003.safetensors", "model.safetensors.index.json"));
  const Checkpoint checkpoint = open_checkpoint(directory_ / "out");
  EXPECT_THAT(checkpoint.names(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(as_text(checkpoint.at("c").bytes), "cccccccccccc");
  EXPECT_EQ(read_file(directory_ / "out" / safetensors_index_name()),
            R"({"metadata":{"total_size":20},"weight_map":{)"
            R"("a":"model-00001-of-00003.safetensors","b":"model-00001-of-00003.safetensors",)"
            R"("c":"model-00002-of-00003.safetensors","d":"model-00003-of-00003.safetensors"}})");
}

TEST_F(SafetensorsWriterTest, OneShardIsOneFileWithoutAnIndex) {
  SafetensorsWriter writer(directory_ / "out", 8);
  writer.add(text_tensor("a", "aaaa"));
  writer.add(text_tensor("b", "bbbb"));
  writer.finish();
  EXPECT_THAT(listing(directory_ / "out"), ElementsAre("model.safetensors"));
  EXPECT_THAT(open_checkpoint(directory_ / "out").names(), ElementsAre("a", "b"));
}

TEST_F(SafetensorsWriterTest, NoTensorsAreAnEmptyFile) {
  SafetensorsWriter(directory_ / "out").finish();
  EXPECT_THAT(listing(directory_ / "out"), ElementsAre("model.safetensors"));
  EXPECT_THAT(open_checkpoint(directory_ / "out").names(), IsEmpty());
}

TEST_F(SafetensorsWriterTest, SetsOfOtherStemsShareADirectory) {
  ASSERT_TRUE(save_two_shards(directory_));
  SafetensorsWriter writer(directory_, 4, "moments");
  writer.add(text_tensor("m", "mmmm"));
  writer.add(text_tensor("n", "nnnn"));
  writer.finish();
  EXPECT_THAT(open_checkpoint(directory_).names(), ElementsAre("a", "b"));
  EXPECT_THAT(open_checkpoint(directory_, "moments").names(), ElementsAre("m", "n"));
  EXPECT_THAT(listing(directory_), testing::Contains("moments-00002-of-00002.safetensors"));
  EXPECT_THAT([&] { SafetensorsWriter(directory_, 4, "moments"); },
              ThrowsMessage<Error>(HasSubstr("already holds moments.safetensors.index.json")));
  EXPECT_THAT([&] { open_checkpoint(directory_, "none"); },
              ThrowsMessage<Error>(
                  HasSubstr("has neither none.safetensors.index.json nor none.safetensors")));
}

TEST_F(SafetensorsWriterTest, ShowsNothingBeforeFinish) {
  SafetensorsWriter writer(directory_, 4);
  writer.add(text_tensor("a", "aaaa"));
  writer.add(text_tensor("b", "bbbb"));
  EXPECT_THAT(listing(directory_), ElementsAre(".model-00001.partial"));
  EXPECT_THAT([&] { open_checkpoint(directory_); }, ThrowsMessage<Error>(HasSubstr("has neither")));
}

TEST_F(SafetensorsWriterTest, LeavesNothingWithoutFinish) {
  {
    SafetensorsWriter writer(directory_ / "out", 4);
    writer.add(text_tensor("a", "aaaa"));
    writer.add(text_tensor("b", "bbbb"));
  }
  EXPECT_THAT(listing(directory_), IsEmpty());
}

TEST_F(SafetensorsWriterTest, AFullDiskInAShardLeavesNothing) {
  fill_disk_at(".model-00002.partial");
  EXPECT_FALSE(save_two_shards(directory_));
  EXPECT_EQ(error_.kind(), ErrorKind::exhausted);
  EXPECT_THAT(error_.what(), HasSubstr(".model-00002.partial: cannot write: No space left"));
  EXPECT_THAT(listing(directory_), IsEmpty());
}

TEST_F(SafetensorsWriterTest, AFullDiskAtTheIndexLeavesNothing) {
  fill_disk_at(safetensors_index_name());
  EXPECT_FALSE(save_two_shards(directory_));
  EXPECT_EQ(error_.kind(), ErrorKind::exhausted);
  EXPECT_THAT(error_.what(), HasSubstr("model.safetensors.index.json: cannot write: No space"));
  EXPECT_THAT(listing(directory_), IsEmpty());
}

TEST_F(SafetensorsWriterTest, AFileThatStopsGrowingAtAnyByteLeavesNothing) {
  ASSERT_TRUE(save_two_shards(directory_ / "whole"));
  const auto index_bytes =
      std::filesystem::file_size(directory_ / "whole" / safetensors_index_name());
  const auto shard_bytes =
      std::filesystem::file_size(directory_ / "whole" / "model-00001-of-00002.safetensors");
  const std::size_t needed = std::max(index_bytes, shard_bytes);
  for (std::size_t limit = 0; limit < needed; ++limit) {
    const FileSizeLimit full(limit);
    EXPECT_FALSE(save_two_shards(directory_ / "part")) << limit;
    EXPECT_THAT(listing(directory_), ElementsAre("whole")) << limit;
  }
  const FileSizeLimit enough(needed);
  EXPECT_TRUE(save_two_shards(directory_ / "part"));
}

TEST_F(SafetensorsWriterTest, AShardThatCannotBePublishedTakesTheOthersBack) {
  std::filesystem::create_directories(directory_ / "model-00002-of-00002.safetensors" / "x");
  EXPECT_FALSE(save_two_shards(directory_));
  EXPECT_THAT(error_.what(), HasSubstr("model-00002-of-00002.safetensors: cannot rename"));
  EXPECT_THAT(listing(directory_), ElementsAre("model-00002-of-00002.safetensors"));
}

TEST_F(SafetensorsWriterTest, WritesTheSameBytesEachTime) {
  ASSERT_TRUE(save_two_shards(directory_ / "x"));
  ASSERT_TRUE(save_two_shards(directory_ / "y"));
  for (const std::string& name : listing(directory_ / "x"))
    EXPECT_EQ(read_file(directory_ / "x" / name), read_file(directory_ / "y" / name));
}

TEST_F(SafetensorsWriterTest, RefusesADirectoryThatHoldsACheckpoint) {
  ASSERT_TRUE(save_two_shards(directory_));
  EXPECT_FALSE(save_two_shards(directory_));
  EXPECT_THAT(error_.what(), HasSubstr("already holds model.safetensors.index.json"));
  EXPECT_EQ(open_checkpoint(directory_).tensors().size(), 2u);
}

TEST_F(SafetensorsWriterTest, RefusesWhatTheFormatCannotHold) {
  SafetensorsWriter writer(directory_ / "out");
  const std::string block(18, 'x');
  EXPECT_THAT(
      [&] {
        writer.add({"w", ir::Kind::q4_0, {32}, as_bytes(block), nullptr});
      },
      ThrowsMessage<Error>("tensor 'w': safetensors cannot hold q4_0"));
  EXPECT_THAT(
      [&] {
        writer.add({"w", ir::Kind::f32, {4}, as_bytes(block), nullptr});
      },
      ThrowsMessage<Error>("tensor 'w': has 18 bytes, which is not f32 [4]"));
  EXPECT_THAT([&] { writer.add(text_tensor("__metadata__", "x")); },
              ThrowsMessage<Error>(HasSubstr("the format keeps this name for itself")));
  writer.add(text_tensor("w", "x"));
  EXPECT_THAT([&] { writer.add(text_tensor("w", "x")); },
              ThrowsMessage<Error>(HasSubstr("tensor 'w' is saved twice")));
  EXPECT_THAT(
      [&] {
        write_safetensors(directory_ / "f", {text_tensor("w", "x"), text_tensor("w", "y")});
      },
      ThrowsMessage<Error>(HasSubstr("f: tensor 'w' occurs twice")));
  EXPECT_THAT([&] { SafetensorsWriter(directory_ / "other", 0); },
              ThrowsMessage<Error>("shard size is 0 bytes, expected more than 0"));
}

}  // namespace
}  // namespace parhelion::state
