#include "train/loop/reporter.h"

#include "base/file.h"
#include "train/track/tracker_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::train {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

/// A reporter that keeps what it shows.
struct ShownRun {
  explicit ShownRun(double matmul_peak)
      : directory(empty_directory()),
        reporter(
            {.paths = run_paths(directory),
             .log = {.every = 1, .tensorboard = false},
             .job = {},
             .flops_per_token = 10,
             .matmul_peak = matmul_peak,
             .memory_bytes = [] { return std::int64_t{1} << 20; },
             .print_line = [this](std::string_view line) { lines.emplace_back(line); },
             .show_progress = [this](std::string_view line) { progress.emplace_back(line); }}) {
    reporter.handle(RunStarted{.step = 0, .total_steps = 1});
  }
  void step_of(double seconds) {
    reporter.handle(StepFinished{
        .step = 1, .total_steps = 3, .tokens = 100, .applied = true, .duration = Seconds(seconds)});
  }

  std::filesystem::path directory;
  std::vector<std::string> lines;
  std::vector<std::string> progress;
  Reporter reporter;
};

TEST(Reporter, ShowsNoMoreThanTheWholePeakAndKeepsTheBestRate) {
  ShownRun run(500);
  run.step_of(4);  // 250 FLOP/s
  run.step_of(1);  // 1000
  run.step_of(2);  // 500
  EXPECT_THAT(run.progress,
              ElementsAre(HasSubstr(" 50 % of"), HasSubstr(" 100 % of"), HasSubstr(" 50 % of")));
}

TEST(Reporter, KeepsATextOnOneLine) {
  ShownRun run(0);
  run.reporter.handle(
      Evaluated{.step = 2, .texts = {{.prompt = "a\nb", .text = "\"c\"\r\x1b[2J"}}});
  EXPECT_THAT(run.lines,
              ElementsAre("training for 1 step", R"(step 2: "a\nb" -> "\"c\"\r\u001b[2J")"));
}

TEST(Reporter, WritesToTheLogWhatIsShownElsewhere) {
  ShownRun run(0);
  run.reporter.write_to_log("error: x");
  EXPECT_THAT(read_file(run.directory / "train.log"), EndsWith("  error: x\n"));
  EXPECT_EQ(run.lines.size(), 1u);
}

}  // namespace
}  // namespace parhelion::train
