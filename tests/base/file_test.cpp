#include "base/file.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

namespace parhelion {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_ = std::filesystem::path(testing::TempDir()) /
                                     testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(FileTest, CommittedFileReadsBackWholeAndMapped) {
  const auto path = directory_ / "a";
  AtomicFile file(path);
  file.write("hello ");
  file.write("world");
  file.commit();
  EXPECT_EQ(read_file(path), "hello world");
  EXPECT_EQ(MappedFile(path).bytes().size(), 11u);
}

TEST_F(FileTest, UncommittedFileLeavesNothingAndKeepsTheOldOne) {
  const auto path = directory_ / "a";
  {
    AtomicFile first(path);
    first.write("old");
    first.commit();
    AtomicFile second(path);
    second.write("new");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(FileTest, MissingFileIsNamed) {
  EXPECT_THAT([&] { read_file(directory_ / "none"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("none: cannot open")));
  EXPECT_THAT([&] { MappedFile(directory_ / "none"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("none: cannot open")));
}

TEST_F(FileTest, DirectoryIsNoRegularFile) {
  EXPECT_THAT([&] { read_file(directory_); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("no regular file")));
}

TEST_F(FileTest, ATemporaryDirectoryBeginsEmptyAndTakesWhatIsInItAlong) {
  const auto path = directory_ / "t" / "u";
  std::filesystem::create_directories(path / "old");
  {
    const TemporaryDirectory temporary(path);
    EXPECT_TRUE(std::filesystem::is_empty(path));
    std::filesystem::create_directories(path / "new" / "deep");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    const TemporaryDirectory temporary(path);
    std::filesystem::rename(path, directory_ / "kept");
  }
  EXPECT_TRUE(std::filesystem::exists(directory_ / "kept"));
  EXPECT_THAT([] { TemporaryDirectory("/proc/none"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("/proc/none: cannot make this")));
}

TEST_F(FileTest, ARenameThatFailsSaysWhy) {
  const auto path = directory_ / "a";
  std::filesystem::create_directories(path / "b");
  AtomicFile file(path);
  errno = EPERM;  // of something earlier
  try {
    file.commit();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("a: cannot rename: Is a directory"));
  }
}

TEST_F(FileTest, SyncsDirectoriesOnly) {
  sync_directory(directory_);
  EXPECT_THAT([&] { sync_directory(directory_ / "none"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("none: cannot sync: No such file")));
}

}  // namespace
}  // namespace parhelion
