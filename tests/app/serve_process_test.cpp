#include "app/cli/stage_limit.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace parhelion::app {
namespace {

/// The server as an operator starts it.
class ServeProcessTest : public testing::Test {
 protected:
  void start(const std::string& model = PARHELION_TEST_DATA "/model/llama_tiny") {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    std::vector<std::string> words = {PARHELION_BINARY, "serve", model, "--port", "0", "--quiet"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    ASSERT_EQ(
        ::posix_spawn(&process_, PARHELION_BINARY, &actions, nullptr, arguments.data(), environ),
        0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    output_ = pipe[0];
  }
  void TearDown() override {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    if (output_ >= 0) ::close(output_);
  }

  /// Reads what it prints until `text` is there; false if it ends before.
  bool prints(std::string_view text) {
    std::array<char, 4096> bytes{};
    while (printed_.find(text) == std::string::npos) {
      const ssize_t count = ::read(output_, bytes.data(), bytes.size());
      if (count <= 0) return false;
      printed_.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return true;
  }
  int exit_code() {
    int status = -1;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t process_ = -1;
  int output_ = -1;
  std::string printed_;
};

TEST_F(ServeProcessTest, ListensBeforeItHasLoaded) {
  start();
  ASSERT_TRUE(prints("serving llama_tiny at http://127.0.0.1:"));
  const std::size_t listens = printed_.find("listening at 127.0.0.1:");
  EXPECT_LT(listens, printed_.find("serving llama_tiny"));
  ::kill(process_, SIGTERM);
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(ServeProcessTest, EndsWellWhereItIsStoppedWhileItLoads) {
  start();
  ASSERT_TRUE(prints("listening at 127.0.0.1:"));
  ::kill(process_, SIGTERM);
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(ServeProcessTest, DoesNotWaitForALoadThatDoesNotEnd) {
  const std::filesystem::path model = std::filesystem::temp_directory_path() /
                                      ("parhelion_endless_load_" + std::to_string(::getpid()));
  std::filesystem::create_directories(model);
  ASSERT_EQ(::mkfifo((model / "config.json").c_str(), 0600), 0);  // who opens it waits for a writer
  start(model.string());
  EXPECT_TRUE(prints("listening at 127.0.0.1:"));
  ::kill(process_, SIGTERM);
  EXPECT_EQ(exit_code(), 0);
  std::filesystem::remove_all(model);
}

TEST_F(ServeProcessTest, EndsWellAtAnyNumberOfSignals) {
  start();
  ASSERT_TRUE(prints("serving llama_tiny"));
  int status = -1;
  while (::waitpid(process_, &status, WNOHANG) == 0) {
    ::kill(process_, SIGINT);
    ::usleep(100);
  }
  process_ = -1;
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(StageLimitDeathTest, EndsTheProcessWhereAStageTakesTooLong) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] {
    const StageLimit stage("close connections", std::chrono::milliseconds(10));
    ::poll(nullptr, 0, 10'000);
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(kOverrunExit), "stage 'close connections'");
}

}  // namespace
}  // namespace parhelion::app
