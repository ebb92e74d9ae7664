#include "app/command_support.h"
#include "app/model_test_support.h"
#include "base/file.h"
#include "base/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

namespace parhelion::app {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

std::int64_t count_of(std::string_view text, std::string_view part) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A small job, run with the program as a user does.
class TrainCommand : public ModelFilesTest {
 protected:
  void SetUp() override {
    ModelFilesTest::SetUp();
    put(directory_ / "text.jsonl", "{\"text\":\"a parhelion is a bright spot beside the sun\"}\n");
    put(directory_ / "job.toml",
        "[run]\ndirectory = 'run'\nthreads = 1\n[model]\npath = '" + tiny_directory().string() +
            "'\n[data]\nfiles = ['text.jsonl']\nsequence_tokens = 16\nepochs = 0\n"
            "[optimizer]\nlr = 1e-3\n[schedule]\nsteps = 4\n[log]\ntensorboard = false\n");
  }

  std::string quoted_path(std::string_view name) const {
    return "'" + (directory_ / name).string() + "' ";
  }
  std::string command() const {
    return std::string("'") + PARHELION_BINARY + "' train " + quoted_path("job.toml");
  }
  Outcome train(const std::string& arguments = "") const { return run_line(command() + arguments); }
  /// Starts a run, waits until it trains, does what `lines` of Bash say to process $!, and ends as
  /// that process does.
  Outcome disturb(const std::string& arguments, const std::string& lines) const {
    // With job control a process in the background does not ignore SIGINT.
    return run_line("set -m\n" + command() + arguments + " &\nuntil grep -qs 'training for' " +
                    quoted_path("run/train.log") + "; do sleep 0.01; done\nsleep 0.3\n" + lines +
                    "\nwait $!");
  }

  std::string log() const { return read_file(directory_ / "run" / "train.log"); }
  std::vector<std::string> checkpoints() const {
    return listing(directory_ / "run" / "checkpoints");
  }
};

TEST_F(TrainCommand, EachSignalSavesAndShowsInTheExitCode) {
  for (const auto& [signal, code] : {std::pair{"INT", 130}, {"TERM", 143}, {"HUP", 129}}) {
    SCOPED_TRACE(signal);
    std::filesystem::remove_all(directory_ / "run");
    const Outcome outcome =
        disturb("--set schedule.steps=1000000", std::string("kill -") + signal + " $!");
    EXPECT_EQ(outcome.code, code);
    EXPECT_THAT(outcome.output, AllOf(HasSubstr("parhelion: finishing step "),
                                      HasSubstr(", then saving; again to stop at once\n"),
                                      HasSubstr("stopped after step")));
    EXPECT_EQ(checkpoints().size(), 1u);
  }
}

TEST_F(TrainCommand, ASecondSignalStopsAtOnce) {
  const Outcome outcome =
      disturb("--set data.microbatches=100000", "kill -INT $!\nsleep 0.2\nkill -TERM $!");
  EXPECT_EQ(outcome.code, 143);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("finishing step 1, then saving"),
                                    Not(HasSubstr("stopped after step"))));
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(TrainCommand, GoesOnWhereNobodyReadsItsLines) {
  const Outcome outcome = run_line("set -o pipefail\n" + command() + "| head -n 1");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(log(), HasSubstr("done after step 4"));
}

TEST_F(TrainCommand, FailsWhereItsEndIsNotSavedAndLogsThat) {
  const Outcome outcome = run_line("trap '' XFSZ\nulimit -f 16\n" + command());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("step 4: cannot be saved: "),
                                    HasSubstr("steps 1 to 4 are lost; there is no checkpoint"),
                                    Not(HasSubstr("done after"))));
  EXPECT_THAT(log(), HasSubstr("error: step 4: cannot be saved: "));
}

TEST_F(TrainCommand, GoesOnFromTheJobThatItsRunKeeps) {
  ASSERT_EQ(run_line("cd " + quoted_path("") + "&& '" + PARHELION_BINARY + "' train job.toml").code,
            0);
  const Outcome again = run_line("cd / && '" + std::string(PARHELION_BINARY) + "' train " +
                                 quoted_path("run/job.json") + "--set schedule.steps=6");
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.output,
              AllOf(HasSubstr("going on after step 4 of 6"), HasSubstr("done after step 6")));
}

TEST_F(TrainCommand, NamesWhatAnotherJobChanged) {
  ASSERT_EQ(train().code, 0);
  const Outcome keys = train("--set run.seed=3 --set optimizer.kind=sgd --set optimizer.lr=1");
  EXPECT_EQ(keys.code, 2);
  EXPECT_THAT(keys.output,
              HasSubstr("is of another job: optimizer.kind: \"adamw\" -> \"sgd\"; run.seed: 0 -> "
                        "3; give this job a directory of its own"));
  put(directory_ / "text.jsonl", "{\"text\":\"something else\"}\n");
  EXPECT_THAT(train().output, HasSubstr("its keys are the same, so what data, model or tokenizer "
                                        "hold changed"));
}

TEST_F(TrainCommand, SaysWhereARunIsBehindTheJobsEnd) {
  ASSERT_EQ(train().code, 0);
  EXPECT_THAT(train("--set schedule.steps=1").output,
              HasSubstr("the run is at step 4, the job asks for 1 step: nothing to do"));
  EXPECT_THAT(checkpoints(), ElementsAre("step-00000004"));
}

TEST_F(TrainCommand, EvaluatesBeforeTheFirstStepAndKeepsEachTextOnOneLine) {
  const std::string evaluation =
      "--set evaluation.every=3 --set \"evaluation.files=['text.jsonl']\" "
      "--set 'evaluation.prompts=[\"a\\nb\"]' ";
  const Outcome outcome = train(evaluation);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("step 0: evaluation loss "), HasSubstr("step 0: \"a\\nb\" -> \"")));
  std::istringstream lines(log());
  for (std::string line; std::getline(lines, line);)
    EXPECT_THAT(line, MatchesRegex("[0-9][0-9]:[0-9][0-9]:[0-9][0-9]  .*"));
  // A run that begins again evaluates again, and keeps one record.
  std::filesystem::remove_all(directory_ / "run" / "checkpoints");
  ASSERT_EQ(train(evaluation).code, 0);
  EXPECT_EQ(count_of(read_file(directory_ / "run" / "metrics.jsonl"), "{\"step\":0,"), 1);
}

TEST_F(TrainCommand, ADryRunLeavesNothingBehind) {
  std::filesystem::create_directories(directory_ / "temporary");
  const Outcome outcome =
      run_line("export TMPDIR=" + quoted_path("temporary") + "\n" + command() + "--dry-run");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(count_of(outcome.output, "data: 1 document, "), 1);
  EXPECT_THAT(outcome.output, Not(testing::EndsWith("\n\n")));
  EXPECT_THAT(listing(directory_), ElementsAre("job.toml", "temporary", "text.jsonl"));
  EXPECT_THAT(listing(directory_ / "temporary"), IsEmpty());
}

TEST_F(TrainCommand, ADryRunTellsWhatIsComputedAgain) {
  EXPECT_THAT(train("--dry-run").output, Not(HasSubstr("recompute")));
  EXPECT_THAT(train("--dry-run --set model.recompute=layer").output,
              ContainsRegex("\nrecompute: layer, .* rms_norm.*% more work"));
  EXPECT_THAT(train("--dry-run --set model.memory_budget=1GiB").output,
              HasSubstr("\nrecompute: auto, nothing\n"));
  const Outcome small = train("--dry-run --set model.memory_budget=1KiB");
  EXPECT_EQ(small.code, 1);
  EXPECT_THAT(small.output, HasSubstr("job.toml: model.memory_budget is 1KiB, of which "));
}

TEST_F(TrainCommand, ADryRunCountsTheCopiesOfFrozenWeights) {
  EXPECT_THAT(train("--dry-run").output, Not(HasSubstr("their copies")));
  EXPECT_THAT(train("--dry-run --set lora={}").output, HasSubstr("their copies"));
}

TEST_F(TrainCommand, NamesJobAndKeyOfWhatIsWrong) {
  const std::string job = (directory_ / "job.toml").string();
  const std::string none = (directory_ / "none").string();
  for (const auto& [arguments, message] : {
           std::pair{std::string("--set data.epochs=1"),
                     job + ": schedule.steps is 4, but the data give 1 step; "},
           {"--set \"data.files=['none']\"",
            fmt::format("{}: data.files: {}: cannot open", job, none)},
           {"--set model.path=none", fmt::format("{}: model.path: {}: is missing", job, none)},
           {"--set data.sequence_tokens=1024",
            job + ": data.sequence_tokens is 1024, but the model's max_position_embeddings is 512"},
       }) {
    SCOPED_TRACE(arguments);
    for (const char* mode : {"", " --dry-run"}) {
      const Outcome outcome = train(arguments + mode);
      EXPECT_EQ(outcome.code, 2);
      EXPECT_THAT(outcome.output, HasSubstr(message));
    }
  }
}

TEST_F(TrainCommand, LogsADamagedCheckpoint) {
  ASSERT_EQ(train("--set checkpoint.every=2").code, 0);
  put(directory_ / "run" / "checkpoints" / "step-00000004" / "parameters.safetensors", "x");
  const Outcome outcome = train();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("DAMAGED CHECKPOINT"), HasSubstr("step 2 of 4")));
  EXPECT_THAT(log(), HasSubstr("warning: DAMAGED CHECKPOINT"));
}

TEST_F(TrainCommand, BeginsWithTheDeviationOfTheConfig) {
  std::string config = read_file(tiny_directory() / "config.json");
  const std::string key = "\"initializer_range\": 0.02";
  config.replace(config.find(key), key.size(), "\"initializer_range\": 0.5");
  put(directory_ / "config.json", config);
  put(directory_ / "random.toml",
      "[run]\ndirectory = 'run'\n[model]\nconfig = 'config.json'\ntokenizer = '" +
          tiny_directory().string() +
          "'\n[data]\nfiles = ['text.jsonl']\nsequence_tokens = 16\n[optimizer]\nlr = 1e-9\n"
          "weight_decay = 0\n[schedule]\nsteps = 1\n");
  ASSERT_EQ(run("train " + quoted_path("random.toml")).code, 0);
  const std::string bytes = parameter_bytes(directory_ / "run" / "checkpoints" / "step-00000001")
      ["model.embed_tokens."
       "weight"];
  double square = 0;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    square += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(std::sqrt(square * sizeof(float) / static_cast<double>(bytes.size())), 0.5, 0.02);
}

}  // namespace
}  // namespace parhelion::app
