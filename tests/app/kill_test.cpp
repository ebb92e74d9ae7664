#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "support/test_directory.h"
#include "train/checkpoint/open_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace parhelion::app {
namespace {

constexpr int kKills = 200;
constexpr std::string_view kSteps = "240";

/// Runs of one job with the program as a user starts it.
class KillTest : public TestDirectory {
 protected:
  void SetUp() override {
    TestDirectory::SetUp();
    std::ofstream(directory_ / "text.jsonl")
        << R"({"text":"a parhelion is a bright spot beside the sun"})"
        << "\n"
        << R"({"text":"ice in the air bends the light"})"
        << "\n";
    const std::string model = std::string(PARHELION_TEST_DATA) + "/model/llama_tiny";
    std::ofstream(directory_ / "job.toml")
        << "[run]\ndirectory = 'run'\nthreads = 1\n[model]\npath = '" << model
        << "'\ndtype = 'bf16'\n[data]\nfiles = ['text.jsonl']\nsequence_tokens = 16\nepochs = 0\n"
        << "[optimizer]\nlr = 1e-3\nmoments = 'bf16'\n[schedule]\nsteps = " << kSteps
        << "\n[checkpoint]\nevery = 3\n[log]\ntensorboard = false\n";
  }

  pid_t start(const std::string& run) const {
    const std::string job = (directory_ / "job.toml").string();
    const std::string set = "run.directory=" + (directory_ / run).string();
    std::vector<std::string> words = {PARHELION_BINARY, "train", job, "--set", set};
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t process = -1;
    EXPECT_EQ(
        ::posix_spawn(&process, PARHELION_BINARY, &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return process;
  }
  static int wait_for(pid_t process) {
    int status = -1;
    ::waitpid(process, &status, 0);
    return status;
  }

  std::filesystem::path checkpoints(const std::string& run) const {
    return directory_ / run / "checkpoints";
  }
  /// What is under a checkpoint's name.
  std::set<std::filesystem::path> saved(const std::string& run) const {
    std::set<std::filesystem::path> result;
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints(run), absent))
      if (entry.path().extension() != ".tmp") result.insert(entry.path());
    return result;
  }
  /// Waits for the run's next checkpoint; ends at once where the run has ended.
  void await_checkpoint(const std::string& run, pid_t process) const {
    const auto before = saved(run);
    siginfo_t ended{};
    while (ended.si_pid == 0 && std::ranges::includes(before, saved(run))) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      ::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT);
    }
  }
  /// Hashes of the last checkpoint's files.
  std::map<std::string, std::string> content(const std::string& run) const {
    std::map<std::string, std::string> result;
    const auto last = train::open_newest_checkpoint(checkpoints(run), train::Verify::contents);
    for (const train::FileRecord& file : last->manifest.files) result[file.name] = file.xxh128;
    return result;
  }
  /// Step and loss of every line of the metrics.
  std::vector<std::pair<std::int64_t, double>> losses(const std::string& run) const {
    std::vector<std::pair<std::int64_t, double>> result;
    std::istringstream lines(read_file(directory_ / run / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const Json record = parse_json(line, "metrics");
      result.emplace_back(record.find("step")->as_int64("step"),
                          record.find("loss")->as_double("loss"));
    }
    return result;
  }
};

TEST_F(KillTest, ARunKilledAtAnyMomentEndsAsOneThatWasNot) {
  ASSERT_EQ(wait_for(start("whole")), 0);
  // Runs die while they start and in their first steps: a complete run does nothing but start.
  // Every fourth dies behind its first checkpoint, so that they get on however slow the machine is.
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(wait_for(start("whole")), 0);
  const std::chrono::duration<double> longest =
      std::chrono::steady_clock::now() - begin + std::chrono::milliseconds(80);
  std::set<std::filesystem::path> seen;
  for (int kill = 0; kill < kKills; ++kill) {
    const pid_t process = start("killed");
    const double moment = uniform(1, 0, static_cast<std::uint64_t>(kill));
    const bool saves = kill % 4 == 0;
    if (saves) await_checkpoint("killed", process);
    std::this_thread::sleep_for(moment * (saves ? std::chrono::duration<double>(0.02) : longest));
    ::kill(process, SIGKILL);
    wait_for(process);
    // Whatever is under a checkpoint's name is whole.
    for (const std::filesystem::path& entry : saved("killed")) {
      ASSERT_NO_THROW(train::open_train_checkpoint(entry, train::Verify::contents));
      seen.insert(entry);
    }
  }
  EXPECT_GT(seen.size(), 10u);
  ASSERT_EQ(wait_for(start("killed")), 0);
  EXPECT_EQ(content("killed"), content("whole"));
  EXPECT_EQ(losses("killed"), losses("whole"));
  EXPECT_EQ(losses("killed").size(), 240u);
}

}  // namespace
}  // namespace parhelion::app
