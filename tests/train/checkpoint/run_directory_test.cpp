#include "train/checkpoint/run_directory.h"

#include "base/error.h"
#include "train/checkpoint/checkpoint_files.h"

#include <gmock/gmock.h>

#include <array>
#include <sys/wait.h>
#include <unistd.h>

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Another process that holds a run directory until it is killed.
class OtherJob {
 public:
  explicit OtherJob(const std::filesystem::path& directory) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) hold(directory, pipe[1]);
    char ready = 0;
    EXPECT_EQ(::read(pipe[0], &ready, 1), 1);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  ~OtherJob() { kill(); }
  OtherJob(const OtherJob&) = delete;
  OtherJob& operator=(const OtherJob&) = delete;

  pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  [[noreturn]] static void hold(const std::filesystem::path& directory, int ready) {
    try {
      const RunDirectory run(directory);
      if (::write(ready, "x", 1) == 1) ::pause();
    } catch (const Error&) {
    }
    ::_exit(1);
  }

  pid_t pid_ = 0;
};

class RunDirectoryTest : public CheckpointFiles {};

TEST_F(RunDirectoryTest, MakesWhatIsMissing) {
  const RunDirectory run(directory_ / "deep" / "run");
  EXPECT_EQ(run.paths().checkpoints, directory_ / "deep" / "run" / "checkpoints");
  EXPECT_THAT(listing(directory_ / "deep" / "run"), ElementsAre("checkpoints", "lock"));
  EXPECT_EQ(read_file(run.paths().lock), std::to_string(::getpid()));
}

TEST_F(RunDirectoryTest, RefusesASecondJobAndNamesTheProcessOfTheFirst) {
  OtherJob other(directory_ / "run");
  const std::string expected = fmt::format("{}: another job (process {}) trains in this directory",
                                           (directory_ / "run").string(), other.pid());
  EXPECT_THAT([&] { RunDirectory(directory_ / "run"); }, ThrowsMessage<Error>(expected));
  other.kill();
  const RunDirectory run(directory_ / "run");
  EXPECT_EQ(read_file(run.paths().lock), std::to_string(::getpid()));
}

TEST_F(RunDirectoryTest, TheLockEndsWithTheObject) {
  { const RunDirectory run(directory_); }
  const RunDirectory again(directory_);
  EXPECT_THAT([&] { RunDirectory{directory_}; }, ThrowsMessage<Error>(HasSubstr("another job")));
}

TEST_F(RunDirectoryTest, RemovesWhatAnInterruptedSaveLeftOnceItHoldsTheLock) {
  put(directory_ / "checkpoints" / "step-00000003.tmp" / "parameters.safetensors", "x");
  put(directory_ / "checkpoints" / "step-00000002" / "manifest.json", "x");
  put(directory_ / "checkpoints" / "notes.tmp", "x");
  {
    const OtherJob other(directory_ / "other");
    put(directory_ / "other" / "checkpoints" / "step-00000003.tmp" / "x", "x");
    EXPECT_THROW(RunDirectory{directory_ / "other"}, Error);
    EXPECT_THAT(listing(directory_ / "other" / "checkpoints"), ElementsAre("step-00000003.tmp"));
  }
  const RunDirectory run(directory_);
  EXPECT_THAT(listing(run.paths().checkpoints), ElementsAre("notes.tmp", "step-00000002"));
}

TEST_F(RunDirectoryTest, NamesADirectoryThatCannotBeMadeOrWritten) {
  put(directory_ / "file", "");
  EXPECT_THAT([&] { RunDirectory(directory_ / "file"); },
              ThrowsMessage<Error>(HasSubstr("file/checkpoints: cannot make this directory: ")));
  EXPECT_THAT([&] { RunDirectory("/proc/run"); },
              ThrowsMessage<Error>(HasSubstr("/proc/run/checkpoints: cannot make this directory")));
  std::filesystem::create_directories(directory_ / "run" / "lock");
  EXPECT_THAT([&] { RunDirectory(directory_ / "run"); },
              ThrowsMessage<Error>(HasSubstr("run/lock: cannot write: Is a directory")));
}

}  // namespace
}  // namespace parhelion::train
