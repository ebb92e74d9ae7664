#include "app/command_support.h"
#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace parhelion::app {
namespace {

using testing::HasSubstr;

const std::string kTinyModel = std::string("'") + PARHELION_TEST_DATA "/model/llama_tiny' ";

TEST(BenchCommand, TimesEveryShapeBesideItsFloor) {
  const Outcome outcome =
      run("bench " + kTinyModel + "--batch 1,3 --context 16 --prompt 20 --steps 3 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const Json json = parse_json(outcome.output, "bench");
  EXPECT_GT(json.find("copy_bytes_per_second")->as_double("copy"), 0);
  const Json::Array& times = json.find("times")->as_array("times");
  ASSERT_EQ(times.size(), 3u);
  const std::array<std::string, 3> phases = {"decode", "decode", "prefill"};
  const std::array<std::int64_t, 3> rows = {1, 3, 1};
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i].find("phase")->as_string("phase"), phases[i]);
    EXPECT_EQ(times[i].find("rows")->as_int64("rows"), rows[i]);
    EXPECT_GT(times[i].find("step_seconds")->as_double("step"), 0);
    EXPECT_GT(times[i].find("floor_seconds")->as_double("floor"), 0);
  }
}

TEST(BenchCommand, DrawsWeightsForAConfiguration) {
  const Outcome outcome = run("bench '" PARHELION_TEST_DATA
                              "/model/llama_tiny/config.json' --random --batch 1 --context 16 "
                              "--prompt 8 --steps 2 --profile");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("prefill"));
  EXPECT_THAT(outcome.output, HasSubstr("paged_attention"));
}

TEST(BenchCommand, ComparesLevelsOfNumericsByFamily) {
  const std::string command =
      "bench " + kTinyModel + "--batch 2 --context 16 --prompt 8 --steps 2 --numerics all";
  const Outcome outcome = run(command);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const char* part :
       {"decode of 2 rows, context 16", "prefill of 1 rows, context 8", "exact ms", "invariant ms",
        "exact/fast", "invariant/fast", "paged_attention", "all kernels", "step on the device"})
    EXPECT_THAT(outcome.output, HasSubstr(part));
  const Json json = parse_json(run(command + " --json").output, "bench");
  const Json::Array& times = json.find("times")->as_array("times");
  ASSERT_EQ(times.size(), 6u);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i].find("numerics")->as_string("numerics"),
              (std::array{"exact", "invariant", "fast"}).at(i / 2));
    EXPECT_GT(times[i].find("families")->find("matmul")->as_double("matmul"), 0);
  }
  EXPECT_EQ(run("score " + kTinyModel + "--numerics all").code, 2);
}

TEST(BenchCommand, RefusesAContextThatTheModelHasNot) {
  const Outcome outcome = run("bench " + kTinyModel + "--context 100000");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("bench: a context of 100000 tokens, expected at most the "
                                        "model's"));
}

// A build for a GPU runs these where there is one.
TEST(DeviceOption, NamesWhatIsMissing) {
  for (const char* command :
       {"bench ", "explain ", "generate --prompt a ", "score --ids-file /dev/null "}) {
    const Outcome outcome = run(command + kTinyModel + "--device cuda");
    EXPECT_EQ(outcome.code, 2) << command;
  }
  EXPECT_THAT(run("bench " + kTinyModel + "--device cuda").output, HasSubstr("cuda: "));
  EXPECT_THAT(run("bench " + kTinyModel + "--device tpu").output, HasSubstr("--device"));
}

}  // namespace
}  // namespace parhelion::app
