#include "exec/cuda/plan_files.h"

#include "base/error.h"
#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace parhelion::exec::cuda {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class PlanFilesTest : public testing::Test {
 protected:
  std::filesystem::path only_file() const {
    return std::filesystem::directory_iterator(directory_.path() / "plans")->path();
  }

  TemporaryDirectory directory_{std::filesystem::temp_directory_path() /
                                fmt::format("parhelion_plan_files_{}", ::getpid())};
  PlanFiles files_{directory_.path() / "plans"};
};

TEST_F(PlanFilesTest, FindWhatWasKept) {
  const std::string bytes("two\nlines\0and a zero", 20);
  EXPECT_EQ(files_.find("a key"), std::nullopt);
  files_.keep("a key", bytes);
  files_.keep("another key", "other");
  EXPECT_EQ(files_.find("a key"), bytes);
  EXPECT_EQ(PlanFiles(directory_.path() / "plans").find("another key"), "other");
}

TEST_F(PlanFilesTest, ReplaceWhatWasKeptBefore) {
  files_.keep("key", "first");
  files_.keep("key", "second");
  EXPECT_EQ(files_.find("key"), "second");
}

TEST_F(PlanFilesTest, DoNotFindWhatIsDamaged) {
  files_.keep("key", "content");
  const std::string whole = read_file(only_file());
  testing::internal::CaptureStderr();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(only_file()) << damaged;
    EXPECT_EQ(files_.find("key"), std::nullopt) << "byte " << i;
    std::ofstream(only_file()) << whole.substr(0, i);
    EXPECT_EQ(files_.find("key"), std::nullopt) << "length " << i;
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr(only_file().string() + " is damaged, expected a plan; it is made anew"));
}

TEST_F(PlanFilesTest, DoNotFindWhatAnotherKeyKept) {
  files_.keep("key", "content");
  const std::filesystem::path file = only_file();
  const std::string content = read_file(file);
  std::filesystem::remove(file);
  files_.keep("other", "x");
  std::ofstream(only_file()) << content;
  EXPECT_EQ(files_.find("other"), std::nullopt);
}

TEST_F(PlanFilesTest, KeepNothingWithoutADirectory) {
  const PlanFiles nowhere{std::filesystem::path()};
  nowhere.keep("key", "content");
  EXPECT_EQ(nowhere.find("key"), std::nullopt);
}

TEST_F(PlanFilesTest, NameADirectoryThatCannotBe) {
  std::ofstream(directory_.path() / "file") << "x";
  const PlanFiles files(directory_.path() / "file" / "plans");
  EXPECT_THAT([&] { files.keep("key", "content"); },
              ThrowsMessage<Error>(HasSubstr("cannot be made")));
}

}  // namespace
}  // namespace parhelion::exec::cuda
