#include "train/track/append_file.h"

#include "base/error.h"
#include "base/file.h"
#include "train/track/tracker_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sys/resource.h>

namespace parhelion::train {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// While it lives no file of this process may grow beyond `bytes`, as if the disk were full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(AppendFile, AddsToWhatIsThere) {
  const auto path = empty_directory() / "file";
  std::ofstream(path) << "before\n";
  AppendFile file(path);
  EXPECT_TRUE(file.append("one\n"));
  EXPECT_EQ(read_file(path), "before\none\n");
  EXPECT_TRUE(file.append("two\n"));
  EXPECT_EQ(read_file(path), "before\none\ntwo\n");
}

TEST(AppendFile, WritesAllOfAPieceOrNothing) {
  const auto path = empty_directory() / "file";
  AppendFile file(path);
  EXPECT_TRUE(file.append("one\n"));
  {
    const FullDisk disk(6);
    EXPECT_FALSE(file.append("two\n"));
    EXPECT_EQ(read_file(path), "one\n");
    EXPECT_TRUE(file.append("2\n"));
  }
  EXPECT_TRUE(file.append("three\n"));
  EXPECT_EQ(read_file(path), "one\n2\nthree\n");
}

TEST(AppendFile, RefusesAPlaceThatIsNotThere) {
  EXPECT_THAT([] { AppendFile("/nowhere/file"); },
              ThrowsMessage<Error>(HasSubstr("/nowhere/file: cannot open for writing: No such")));
}

}  // namespace
}  // namespace parhelion::train
