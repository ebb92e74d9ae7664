#include "app/cli/stage_limit.h"
#include "app/http/http_support.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace parhelion::app {
namespace {

/// The server as an operator starts it.
class ServeProcessTest : public testing::Test {
 protected:
  static constexpr const char* kTiny = PARHELION_TEST_DATA "/model/llama_tiny";

  void start(const std::string& model = kTiny,
             const std::vector<std::string>& options = {"--quiet"}) {
    std::array<int, 2> pipe{};
    std::array<int, 2> log{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(log.data(), O_CLOEXEC), 0);
    std::vector<std::string> words = {PARHELION_BINARY, "serve", model, "--port", "0"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, log[1], STDERR_FILENO);
    ASSERT_EQ(
        ::posix_spawn(&process_, PARHELION_BINARY, &actions, nullptr, arguments.data(), environ),
        0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    ::close(log[1]);
    output_ = pipe[0];
    log_ = log[0];
  }
  void TearDown() override {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    if (output_ >= 0) ::close(output_);
    if (log_ >= 0) ::close(log_);
  }

  /// Reads what it prints until `text` is there; false if it ends before.
  bool prints(std::string_view text) { return reads(output_, text, printed_); }
  /// As above, of its log.
  bool logs(std::string_view text) { return reads(log_, text, logged_); }
  static bool reads(int from, std::string_view text, std::string& all) {
    std::array<char, 4096> bytes{};
    while (all.find(text) == std::string::npos) {
      const ssize_t count = ::read(from, bytes.data(), bytes.size());
      if (count <= 0) return false;
      all.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return true;
  }
  /// Where it listens; it must have printed that.
  std::uint16_t port() const {
    constexpr std::string_view kBefore = "listening at 127.0.0.1:";
    return static_cast<std::uint16_t>(
        std::stoi(printed_.substr(printed_.find(kBefore) + kBefore.size())));
  }
  int exit_code() {
    int status = -1;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t process_ = -1;
  int output_ = -1;
  int log_ = -1;
  std::string printed_;
  std::string logged_;
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

TEST_F(ServeProcessTest, GoesOnWithoutAReaderOfItsLog) {
  start(kTiny, {});
  ASSERT_TRUE(prints("serving llama_tiny"));
  ::close(std::exchange(log_, -1));
  for (int i = 0; i < 3; ++i) {
    RawClient client(port());
    client.send("GET /version HTTP/1.1\r\nhost: x\r\n\r\n");
    EXPECT_EQ(client.receive().status, 200);
  }
  ::kill(process_, SIGTERM);
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(ServeProcessTest, LogsItsDrainUnlessToldNotTo) {
  start();
  ASSERT_TRUE(prints("serving llama_tiny"));
  ::kill(process_, SIGTERM);
  EXPECT_TRUE(logs("draining: 0 answers at work"));
  EXPECT_EQ(exit_code(), 0);
  TearDown();
  logged_ = printed_ = "";
  start(kTiny, {"--quiet", "--log-level", "warning"});
  ASSERT_TRUE(prints("serving llama_tiny"));
  ::kill(process_, SIGTERM);
  EXPECT_FALSE(logs("draining"));
  EXPECT_EQ(exit_code(), 0);
}

/// An answer that is under way as long as its client does not read it.
class DrainTest : public ServeProcessTest {
 protected:
  void SetUp() override {
    std::ofstream(keys_) << "operator 0123456789abcdef\n";
    start(kTiny, {"--quiet", "--admin-keys", keys_.string()});
    ASSERT_TRUE(prints("serving llama_tiny"));
    reader_.emplace(port(), 2048);
    std::string prompts = "[40]";
    for (int i = 1; i < 16; ++i) prompts += ",[40]";  // more than buffers hold
    reader_->send(
        post_text("/v1/completions", R"({"prompt":[)" + prompts +
                                         R"(],"n":8,"max_tokens":100,"logprobs":20,"stream":true,)"
                                         R"("ignore_eos":true})"));
    reader_->read_through("data: ");
  }
  void TearDown() override {
    ServeProcessTest::TearDown();
    std::filesystem::remove(keys_);
  }
  void ask_to_drain() const {
    RawClient client(port());
    client.send(
        "POST /admin/drain HTTP/1.1\r\nhost: x\r\nauthorization: bearer 0123456789abcdef\r\n\r\n");
    EXPECT_EQ(client.receive().status, 200);
  }
  bool ends_within(int milliseconds) const {
    siginfo_t ended{};
    for (int i = 0; i < milliseconds && ended.si_pid == 0; ++i) {
      ::usleep(1000);
      ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    return ended.si_pid != 0;
  }

  std::filesystem::path keys_ = std::filesystem::temp_directory_path() /
                                ("parhelion_drain_keys_" + std::to_string(::getpid()));
  std::optional<RawClient> reader_;
};

TEST_F(DrainTest, TheFirstSignalBehindOneOverHttpAsksForWhatIsUnderWay) {
  ask_to_drain();
  ASSERT_TRUE(logs("draining: "));
  ::kill(process_, SIGTERM);
  EXPECT_FALSE(ends_within(300));
  ::kill(process_, SIGTERM);
  EXPECT_TRUE(logs("ending "));
  EXPECT_TRUE(ends_within(10'000));
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
