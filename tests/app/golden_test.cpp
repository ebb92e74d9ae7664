#include "app/golden.h"

#include "app/command_support.h"
#include "app/model_test_support.h"
#include "app/tiny_core.h"
#include "base/error.h"
#include "contract/core_writer.h"
#include "serve/golden.h"

#include <gmock/gmock.h>

namespace parhelion::app {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A tiny core with golden probes.
class GoldenTest : public ModelFilesTest {
 protected:
  void SetUp() override {
    ModelFilesTest::SetUp();
    prepare::PrepareOptions options = corpus_options(tiny_directory(), ir::Kind::f32);
    options.golden = [](const contract::Contract& contract,
                        std::span<const contract::WeightView> weights) {
      return run_golden_probes(contract, weights, {.threads = 1});
    };
    prepare::prepare_core(model::open_model(tiny_directory()), options, path_);
    core_.emplace(contract::read_core(path_, corpus_trust()));
    contract_ = core_->contract;
  }

  /// Runs the probes of the contract as it is now.
  std::int64_t check(exec::CpuLevel level = exec::CpuLevel::widest) const {
    const auto executor = exec::make_cpu_executor({.threads = 1, .level = level});
    serve::Engine engine(contract_, *executor, {});
    upload_weights(core_->weights, *executor);
    const std::int64_t count = serve::check_golden(engine);
    EXPECT_EQ(engine.counts().drawn_tokens, 0);
    EXPECT_EQ(engine.counts().pages_cached, 0);
    return count;
  }
  void write_changed() const {
    std::vector<contract::WeightBytes> weights;
    for (const contract::WeightView& weight : core_->weights)
      weights.push_back({.name = weight.name, .type = weight.type, .bytes = weight.bytes});
    contract::write_core(directory_ / "changed.core", contract_, weights);
  }

  std::filesystem::path path_ = directory_ / "m.core";
  std::optional<contract::Core> core_;
  contract::Contract contract_;
};

TEST_F(GoldenTest, ProbesAgreeOnProcessorsOfAllWidths) {
  EXPECT_EQ(check(), 3);
  EXPECT_EQ(check(exec::CpuLevel::portable), 3);
}

TEST_F(GoldenTest, OneProbeIsLongerThanTheSmallestPromptInstance) {
  const contract::GoldenProbe& probe = contract_.golden.probes.at(1);
  EXPECT_GT(probe.prompt.size(), 32U);
  EXPECT_EQ(probe.prompt_log_probabilities.size(), probe.prompt.size() - 1);
}

TEST_F(GoldenTest, ALogProbabilityThatIsFarIsAMismatch) {
  contract_.golden.probes[0].tokens[1].log_probability -= 0.1F;
  EXPECT_THAT([&] { check(); },
              ThrowsMessage<Error>(HasSubstr("GOLDEN_MISMATCH: probe 'short', token 1 drawn: ")));
  contract_ = core_->contract;
  contract_.golden.probes[1].prompt_log_probabilities[20] += 0.1F;
  EXPECT_THAT([&] { check(); }, ThrowsMessage<Error>(HasSubstr("token 21 of its prompt: ")));
}

TEST_F(GoldenTest, OnlyAFirmIdHasToBeDrawn) {
  contract::GoldenToken& token = contract_.golden.probes[0].tokens[0];
  token.id = token.id == 0 ? 1 : 0;
  token.is_firm = false;
  EXPECT_EQ(check(), 3);
  token.is_firm = true;
  EXPECT_THAT([&] { check(); },
              ThrowsMessage<Error>(HasSubstr("GOLDEN_MISMATCH: probe 'short' drew id ")));
}

TEST_F(GoldenTest, SomeIdsAreFirm) {
  std::int64_t firm = 0;
  for (const contract::GoldenProbe& probe : contract_.golden.probes)
    firm += std::ranges::count(probe.tokens, true, &contract::GoldenToken::is_firm);
  EXPECT_GT(firm, 0);
}

TEST_F(GoldenTest, ProbesThatDoNotFitLoweredLimitsAreLeftOut) {
  contract_.cache.context_tokens = 16;
  EXPECT_EQ(check(), 2);
}

TEST_F(GoldenTest, AServerOfAMismatchIsNeverReady) {
  contract_.golden.probes[0].tokens[0].log_probability -= 1;
  write_changed();
  const std::string core = "'" + (directory_ / "changed.core").string() + "' --allow-unsigned";
  const Outcome served = run("serve " + core + " --port 0 --threads 1");
  EXPECT_EQ(served.code, 2);
  EXPECT_THAT(served.output, HasSubstr("GOLDEN_MISMATCH: probe 'short', token 0 drawn: "));
  EXPECT_EQ(run("inspect core --golden " + core).code, 2);
}

TEST_F(GoldenTest, InspectRunsProbes) {
  const Outcome outcome = run("inspect core --golden --allow-unsigned '" + path_.string() + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("golden    3 probes agree\n"));
}

TEST_F(GoldenTest, InspectSaysThatThereAreNoProbes) {
  contract_.golden = {};
  write_changed();
  const Outcome outcome = run("inspect core --golden --allow-unsigned '" +
                              (directory_ / "changed.core").string() + "'");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("has no golden probes"));
}

}  // namespace
}  // namespace parhelion::app
