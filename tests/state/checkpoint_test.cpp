#include "state/checkpoint.h"

#include "base/error.h"
#include "state/gguf_text.h"
#include "state/test_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class CheckpointTest : public StateFiles {
 protected:
  /// A shard that holds one tensor of four bytes.
  void put_shard(std::string_view file, const std::string& tensor, std::string_view data) const {
    put(file, safetensors_file(
                  "{\"" + tensor + R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", data));
  }
  void put_index(std::string_view map) const {
    put(safetensors_index_name(),
        R"({"metadata":{"total_size":8},"weight_map":)" + std::string(map) + "}");
  }
};

TEST_F(CheckpointTest, OpensASingleFileAndItsDirectory) {
  put_shard(safetensors_single_name(), "w", "1234");
  EXPECT_THAT(open_checkpoint(directory_).names(), ElementsAre("w"));
  const Checkpoint checkpoint = open_checkpoint(directory_ / safetensors_single_name());
  EXPECT_EQ(as_text(checkpoint.at("w").bytes), "1234");
  EXPECT_EQ(checkpoint.find("v"), nullptr);
  EXPECT_THAT([&] { checkpoint.at("v"); }, ThrowsMessage<Error>(HasSubstr("has no tensor 'v'")));
}

TEST_F(CheckpointTest, OpensShardsByTheIndexBeforeASingleFile) {
  put_shard(safetensors_single_name(), "w", "1234");
  put_shard("x2", "b", "bbbb");
  put_shard("x1", "c", "cccc");
  put_index(R"({"b":"x2","c":"x1"})");
  const Checkpoint checkpoint = open_checkpoint(directory_);
  EXPECT_THAT(checkpoint.names(), ElementsAre("c", "b"));
  EXPECT_EQ(as_text(checkpoint.at("b").bytes), "bbbb");
  EXPECT_EQ(as_text(checkpoint.at("c").bytes), "cccc");
}

TEST_F(CheckpointTest, OpensAGgufFileByItsFirstBytes) {
  put("model.bin", gguf_file({gguf_entry("k", MetadataType::string, gguf_string("v"))},
                             {gguf_tensor("w", {2, 1}, 0, 0)}, "12345678"));
  const Checkpoint checkpoint = open_checkpoint(directory_ / "model.bin");
  EXPECT_EQ(checkpoint.at("w").shape, (Shape{1, 2}));
  EXPECT_EQ(as_text(checkpoint.at("w").bytes), "12345678");
  EXPECT_EQ(checkpoint.metadata()->string("k"), "v");
}

TEST_F(CheckpointTest, RefusesAGgufTensorNamedTwice) {
  put("m", gguf_file({}, {gguf_tensor("w", {1}, 0, 0), gguf_tensor("w", {1}, 0, 32)},
                     std::string(36, 'x')));
  EXPECT_THAT([&] { open_checkpoint(directory_ / "m"); },
              ThrowsMessage<Error>(HasSubstr("m: tensor 'w' occurs twice")));
}

TEST_F(CheckpointTest, ReadsWhatThePythonPackageWrites) {
  const Checkpoint checkpoint = open_checkpoint(golden("kinds.safetensors"));
  EXPECT_EQ(checkpoint.metadata(), nullptr);
  EXPECT_EQ(checkpoint.tensors().size(), 13u);
  for (const std::string_view kind :
       {"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u64", "u8"}) {
    EXPECT_EQ(ir::name(checkpoint.at(kind).kind), kind);
    EXPECT_EQ(checkpoint.at(kind).shape, (Shape{2, 3}));
  }
  EXPECT_EQ(as_text(checkpoint.at("f64").bytes.first(24)), raw(0.0) + raw(0.25) + raw(0.5));
  EXPECT_EQ(as_text(checkpoint.at("f32").bytes.last(8)), raw(1.0f) + raw(1.25f));
  EXPECT_EQ(as_text(checkpoint.at("f16").bytes.first(6)), std::string("\0\0\0\x34\0\x38", 6));
  EXPECT_EQ(as_text(checkpoint.at("bf16").bytes.first(6)), std::string("\0\0\x80\x3e\0\x3f", 6));
  EXPECT_EQ(as_text(checkpoint.at("i64").bytes.first(8)), raw(std::int64_t{-2}));
  EXPECT_EQ(as_text(checkpoint.at("i32").bytes.last(4)), raw(std::int32_t{3}));
  EXPECT_EQ(as_text(checkpoint.at("i8").bytes), "\xfe\xff" + std::string("\0\1\2\3", 4));
  EXPECT_EQ(as_text(checkpoint.at("bool").bytes), std::string("\0\0\0\1\1\1", 6));
  EXPECT_EQ(checkpoint.at("scalar").shape, Shape{});
  EXPECT_EQ(checkpoint.at("empty").shape, (Shape{0, 3}));
  EXPECT_EQ(as_text(checkpoint.at("name \u00e9 \"quoted\"").bytes), raw(7.0f));
}

TEST_F(CheckpointTest, StaysReadableAfterItsFileVanishes) {
  put_shard(safetensors_single_name(), "w", "1234");
  const Checkpoint checkpoint = open_checkpoint(directory_);
  std::filesystem::remove(directory_ / safetensors_single_name());
  EXPECT_EQ(as_text(checkpoint.at("w").bytes), "1234");
}

TEST_F(CheckpointTest, NamesWhatIsMissing) {
  EXPECT_THAT([&] { open_checkpoint(directory_ / "none"); },
              ThrowsMessage<Error>(HasSubstr("none: is missing")));
  EXPECT_THAT([&] { open_checkpoint(directory_); },
              ThrowsMessage<Error>(
                  HasSubstr("has neither model.safetensors.index.json nor model.safetensors")));
}

TEST_F(CheckpointTest, NamesAMissingShard) {
  put_index(R"({"b":"x2"})");
  EXPECT_THAT([&] { open_checkpoint(directory_); },
              ThrowsMessage<Error>(HasSubstr("x2: is missing")));
}

TEST_F(CheckpointTest, RefusesAnIndexAndShardThatDisagree) {
  put_shard("x", "b", "bbbb");
  put_index(R"({"b":"x","c":"x"})");
  EXPECT_THAT([&] { open_checkpoint(directory_); },
              ThrowsMessage<Error>(HasSubstr("x: lacks tensors that the index places in it: 'c'")));
  put_shard("y", "c", "cccc");
  put_index(R"({"d":"x"})");
  EXPECT_THAT([&] { open_checkpoint(directory_); }, ThrowsMessage<Error>(HasSubstr("'d'")));
  put("x", safetensors_file(R"({"b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                            R"("c":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                            ""));
  put_index(R"({"b":"x"})");
  EXPECT_THAT(
      [&] { open_checkpoint(directory_); },
      ThrowsMessage<Error>(HasSubstr("x: has tensors that the index does not place in it: 'c'")));
}

TEST_F(CheckpointTest, RefusesATensorInTwoShards) {
  put_shard("x", "b", "bbbb");
  put_shard("y", "b", "cccc");
  std::vector<MappedFile> files;
  files.emplace_back(directory_ / "x");
  const TensorView tensor{"b", ir::Kind::u8, {4}, files.front().bytes().last(4), nullptr};
  EXPECT_THAT(
      [&] {
        Checkpoint("d", std::move(files), {tensor, tensor});
      },
      ThrowsMessage<Error>("d: tensor 'b' occurs twice"));
}

TEST_F(CheckpointTest, RefusesAnIndexThatIsNone) {
  put(safetensors_index_name(), "{}");
  EXPECT_THAT([&] { open_checkpoint(directory_); },
              ThrowsMessage<Error>(HasSubstr("weight_map is missing, expected object")));
  put_index("[]");
  EXPECT_THAT([&] { open_checkpoint(directory_); },
              ThrowsMessage<Error>(HasSubstr("weight_map is array, expected object")));
  put_index(R"({"b":1})");
  EXPECT_THAT([&] { open_checkpoint(directory_); },
              ThrowsMessage<Error>(HasSubstr("weight_map: 'b' is integer, expected string")));
}

TEST_F(CheckpointTest, RefusesAnIndexThatReachesOutOfItsDirectory) {
  for (const std::string_view file : {R"("../x")", R"("/x")", R"("..")", R"("")", R"("a\u0000")"}) {
    put_index(R"({"b":)" + std::string(file) + "}");
    EXPECT_THAT([&] { open_checkpoint(directory_); },
                ThrowsMessage<Error>(HasSubstr("expected a file name without a directory")));
  }
}

}  // namespace
}  // namespace parhelion::state
