#include "train/checkpoint/checkpoint_directory.h"

#include "base/error.h"
#include "train/checkpoint/checkpoint_files.h"

#include <gmock/gmock.h>

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class CheckpointDirectoryTest : public CheckpointFiles {
 protected:
  void put_checkpoint(const std::string& name) const {
    put(directory_ / name / "manifest.json", name);
  }
  std::vector<std::string> found() const {
    std::vector<std::string> names;
    for (const auto& path : list_checkpoints(directory_)) names.push_back(path.filename().string());
    return names;
  }
};

TEST_F(CheckpointDirectoryTest, ListsFinishedCheckpointsNewestFirst) {
  for (const char* name :
       {"step-00000009", "step-00000010", "step-99999999", "step-100000000", "step-00000000"})
    put_checkpoint(name);
  for (const char* name : {"step-00000011.tmp", "step-12", "step-0000000x", "step-", "other",
                           "step-00000012.damaged", "step--0000001", "step-99999999999999999999"})
    put_checkpoint(name);
  put(directory_ / "step-00000013" / "parameters.safetensors", "no manifest");
  put(directory_ / "step-00000014", "a file");
  EXPECT_THAT(found(), ElementsAre("step-100000000", "step-99999999", "step-00000010",
                                   "step-00000009", "step-00000000"));
  EXPECT_THAT(list_checkpoints(directory_ / "none"), IsEmpty());
}

TEST_F(CheckpointDirectoryTest, KeepsTheNewest) {
  for (std::int64_t step = 1; step <= 5; ++step) put_checkpoint(checkpoint_name(step));
  put(directory_ / "step-00000002.tmp" / "x", "left by a removal that was killed");
  remove_old_checkpoints(directory_, 0);
  EXPECT_EQ(found().size(), 5u);
  remove_old_checkpoints(directory_, 5);
  EXPECT_EQ(found().size(), 5u);
  remove_old_checkpoints(directory_, 2);
  EXPECT_THAT(listing(directory_), ElementsAre("step-00000004", "step-00000005"));
  remove_old_checkpoints(directory_, 1);
  EXPECT_THAT(listing(directory_), ElementsAre("step-00000005"));
}

TEST_F(CheckpointDirectoryTest, PublishesInThePlaceOfTheSameStep) {
  const auto path = directory_ / checkpoint_name(7);
  put(unfinished_path(path) / "manifest.json", "new");
  publish_checkpoint(path);
  EXPECT_EQ(read_file(path / "manifest.json"), "new");
  put(unfinished_path(path) / "manifest.json", "newer");
  publish_checkpoint(path);
  EXPECT_EQ(read_file(path / "manifest.json"), "newer");
  EXPECT_THAT(listing(directory_), ElementsAre("step-00000007"));
  EXPECT_THAT([&] { publish_checkpoint(path); },
              ThrowsMessage<Error>(HasSubstr("step-00000007.tmp: cannot rename to step-00000007: "
                                             "No such file")));
}

TEST_F(CheckpointDirectoryTest, RemovesOnlyWhatIsUnfinished) {
  put_checkpoint("step-00000001");
  put_checkpoint("step-00000002.tmp");
  put(directory_ / "step-00000003.tmp", "a file");
  put_checkpoint("other.tmp");
  remove_unfinished_checkpoints(directory_);
  EXPECT_THAT(listing(directory_), ElementsAre("other.tmp", "step-00000001"));
}

}  // namespace
}  // namespace parhelion::train
