#include "train/loop/trainer.h"

#include "train/checkpoint/checkpoint_files.h"
#include "train/loop/loop_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <thread>

namespace parhelion::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class TrainerTest : public DataFiles {
 protected:
  std::shared_ptr<const Documents> documents() const {
    return documents_of({20, 35, 9, 50, 2, 41, 28, 33});
  }
  std::filesystem::path store(std::string_view name) const { return directory_ / name; }
};

TEST_F(TrainerTest, RunsItsStepsAndSavesTheLast) {
  TinyRun run(tiny_job(), documents(), store("run"));
  EXPECT_TRUE(run.run().complete);
  EXPECT_EQ(run.losses().size(), 6u);
  EXPECT_LT(run.losses().back(), run.losses().front());
  const auto saved = run.events_of<Saved>();
  ASSERT_EQ(saved.size(), 1u);
  EXPECT_EQ(saved[0].report.written->directory.filename(), "step-00000006");
  const auto checkpoint = open_newest_checkpoint(store("run"), Verify::contents);
  EXPECT_EQ(checkpoint->manifest.facts.step, 6);
}

TEST_F(TrainerTest, GivesTheSameBitsOnAnyNumberOfThreadsAndPacksAhead) {
  Job job = tiny_job();
  job.data.prefetch = 0;
  TinyRun one(job, documents(), store("one"), 1);
  one.run();
  job.data.prefetch = 3;
  TinyRun two(job, documents(), store("two"), 2);
  two.run();
  EXPECT_EQ(one.losses(), two.losses());
  EXPECT_EQ(one.content(), two.content());
}

/// Steps in f32 and in bf16 with stochastic rounding, without momentum and with it, of adapters
/// with dropout, and of optimizers that keep more beside a parameter.
std::vector<Job> resumed_jobs() {
  Job bf16 = tiny_job();
  bf16.model.dtype = NumberFormat::bf16;
  bf16.optimizer.moments = NumberFormat::bf16;
  Job sgd = tiny_job();
  sgd.optimizer.kind = OptimizerKind::sgd;
  sgd.optimizer.momentum = 0.9;
  sgd.optimizer.dampening = 0.1;
  Job adapters = bf16;
  adapters.lora = LoraSettings{.rank = 4, .dropout = 0.2};
  Job amsgrad = tiny_job();
  amsgrad.optimizer.amsgrad = true;
  Job masters = bf16;
  masters.optimizer.amsgrad = true;
  masters.optimizer.master_weights = true;
  Job sgd_masters = sgd;
  sgd_masters.model.dtype = NumberFormat::bf16;
  sgd_masters.optimizer.master_weights = true;
  return {tiny_job(), bf16, sgd, adapters, amsgrad, masters, sgd_masters};
}

TEST_F(TrainerTest, GoesOnFromACheckpointBitForBit) {
  std::size_t number = 0;
  for (Job job : resumed_jobs()) {
    SCOPED_TRACE(number);
    job.data.microbatches = 2;
    job.checkpoint.every = 1;
    const std::string name = "run" + std::to_string(number++);
    TinyRun whole(job, documents(), store(name));
    whole.run();
    for (const std::int64_t step : {1, 4}) {
      const auto checkpoint =
          open_train_checkpoint(store(name) / fmt::format("step-{:08}", step), Verify::contents);
      TinyRun rest(job, documents(), store(name + "_rest"));
      rest.trainer.resume(checkpoint);
      rest.run();
      EXPECT_EQ(rest.content(), whole.content()) << "from step " << step;
      const std::vector<double> losses = whole.losses();
      EXPECT_EQ(rest.losses(), std::vector<double>(losses.begin() + step, losses.end()));
    }
  }
}

TEST_F(TrainerTest, TakesALongerScheduleOnResume) {
  TinyRun first(tiny_job(), documents(), store("run"));
  first.run();
  Job longer = tiny_job();
  longer.schedule.steps = 8;
  TinyRun rest(longer, documents(), store("run"));
  rest.trainer.resume(*open_newest_checkpoint(store("run"), Verify::sizes));
  EXPECT_EQ(rest.run().step, 8);
  EXPECT_EQ(rest.losses().size(), 2u);
}

TEST_F(TrainerTest, DoesNothingMoreToACompleteRun) {
  TinyRun first(tiny_job(), documents(), store("run"));
  first.run();
  TinyRun again(tiny_job(), documents(), store("run"));
  again.trainer.resume(*open_newest_checkpoint(store("run"), Verify::sizes));
  EXPECT_TRUE(again.run().complete);
  EXPECT_TRUE(again.losses().empty());
  EXPECT_TRUE(again.events_of<Saved>().empty());
}

TEST_F(TrainerTest, StopsBetweenStepsAndSaves) {
  TinyRun run(tiny_job(), documents(), store("run"));
  const RunEnded end = run.trainer.run([&] { return run.losses().size() == 2; });
  EXPECT_FALSE(end.complete);
  EXPECT_EQ(end.step, 2);
  EXPECT_EQ(open_newest_checkpoint(store("run"), Verify::sizes)->manifest.facts.step, 2);
}

constexpr std::size_t kFull = 4096;  // bytes, fewer than a checkpoint has

TEST_F(TrainerTest, FailsWhereTheEndIsNotSavedAndNamesWhatIsLost) {
  Job job = tiny_job();
  job.checkpoint.every = 4;
  TinyRun run(job, documents(), store("run"));
  std::optional<FullDisk> full;
  const auto fill_after_four = [&] {
    if (run.losses().size() != 4) return false;
    while (!std::filesystem::exists(store("run") / "step-00000004")) std::this_thread::yield();
    full.emplace(kFull);
    return false;
  };
  EXPECT_THAT([&] { run.trainer.run(fill_after_four); },
              ThrowsMessage<Error>(AllOf(
                  HasSubstr("step 6: cannot be saved: "), HasSubstr("cannot write: File too large"),
                  HasSubstr("steps 5 to 6 are lost"), HasSubstr("step-00000004"))));
  EXPECT_TRUE(run.events_of<RunEnded>().empty());
}

TEST_F(TrainerTest, FailsWhereAStoppedRunIsNotSaved) {
  TinyRun run(tiny_job(), documents(), store("run"));
  const FullDisk full(kFull);
  EXPECT_THAT([&] { run.trainer.run([&] { return run.losses().size() == 1; }); },
              ThrowsMessage<Error>(AllOf(HasSubstr("step 1: cannot be saved: "),
                                         HasSubstr("step 1 is lost; there is no checkpoint"))));
}

TEST_F(TrainerTest, GoesOnAfterASaveThatFails) {
  Job job = tiny_job();
  job.checkpoint.every = 2;
  TinyRun run(job, documents(), store("run"));
  std::optional<FullDisk> full;
  const auto fill_for_a_while = [&] {
    if (run.losses().size() == 1) full.emplace(kFull);
    if (!run.events_of<Saved>().empty()) full.reset();
    return false;
  };
  EXPECT_TRUE(run.trainer.run(fill_for_a_while).complete);
  EXPECT_FALSE(run.events_of<Saved>().front().report.warnings.empty());
  EXPECT_EQ(open_newest_checkpoint(store("run"), Verify::sizes)->manifest.facts.step, 6);
}

TEST_F(TrainerTest, RefusesTheCheckpointOfAnotherJob) {
  TinyRun run(tiny_job(), documents(), store("run"));
  run.run();
  auto checkpoint = *open_newest_checkpoint(store("run"), Verify::sizes);
  checkpoint.manifest.facts.job_digest = "another";
  TinyRun other(tiny_job(), documents(), store("other"));
  EXPECT_THAT([&] { other.trainer.resume(checkpoint); },
              ThrowsMessage<Error>(HasSubstr("is of another job: ")));
}

TEST_F(TrainerTest, MemorisesAFewDocuments) {
  Job job = tiny_job();
  job.schedule.steps = 120;
  job.optimizer.lr = 5e-3;
  job.data.microbatch_tokens = 96;
  job.data.buckets = {96};
  TinyRun run(job, documents_of({30, 25, 20}), store("run"));
  run.run();
  EXPECT_LT(run.losses().back(), 0.05);
}

TEST_F(TrainerTest, EvaluatesHeldOutDataAndGeneratesFromTheWeightsOfTheStep) {
  Job job = tiny_job();
  job.evaluation = EvaluationSettings{};
  job.evaluation->every = 4;
  TinyRun run(job, documents(), store("run"));
  run.trainer.set_generation([&] {
    return std::vector<Generated>{{.prompt = "p", .text = std::to_string(run.losses().size())}};
  });
  run.run();
  const auto evaluated = run.events_of<Evaluated>();
  ASSERT_EQ(evaluated.size(), 3u);
  EXPECT_EQ(evaluated[0].step, 0);
  EXPECT_EQ(evaluated[1].step, 4);
  EXPECT_EQ(evaluated[2].step, 6);
  EXPECT_EQ(evaluated[0].tokens, 210.0);
  EXPECT_LT(evaluated[1].loss, evaluated[0].loss);
  EXPECT_LT(evaluated[2].loss, evaluated[1].loss);
  EXPECT_EQ(evaluated[2].texts[0].text, "6");
}

TEST_F(TrainerTest, EvaluatesHeldOutDataOnceWhateverTheWeights) {
  Job job = tiny_job();
  job.data.weights = {{2.0}};
  job.evaluation = EvaluationSettings{};
  job.evaluation->every = 6;
  TinyRun run(job, documents(), store("run"));
  run.run();
  EXPECT_EQ(run.events_of<Evaluated>().back().tokens, 210.0);
}

TEST_F(TrainerTest, EvaluatesNothingBeforeItGoesOn) {
  Job job = tiny_job();
  job.evaluation = EvaluationSettings{};
  job.evaluation->every = 4;
  TinyRun first(job, documents(), store("run"));
  first.trainer.run([&] { return first.losses().size() == 2; });
  TinyRun rest(job, documents(), store("run"));
  rest.trainer.resume(*open_newest_checkpoint(store("run"), Verify::sizes));
  rest.run();
  EXPECT_EQ(rest.events_of<Evaluated>().front().step, 4);
}

TEST_F(TrainerTest, RefusesSequencesLongerThanTheContext) {
  Job job = tiny_job();
  job.data = data_settings(513, 513);
  EXPECT_THAT([&] { TinyRun(job, documents(), store("run")); },
              ThrowsMessage<Error>("data.sequence_tokens is 513, but the model's "
                                   "max_position_embeddings is 512"));
}

TEST_F(TrainerTest, RefusesARunThatIsBehindTheEnd) {
  TinyRun run(tiny_job(), documents(), store("run"));
  run.run();
  Job shorter = tiny_job();
  shorter.schedule.steps = 5;
  TinyRun rest(shorter, documents(), store("run"));
  EXPECT_THAT(
      [&] { rest.trainer.resume(*open_newest_checkpoint(store("run"), Verify::sizes)); },
      ThrowsMessage<Error>("the run is at step 6, the job asks for 5 steps: nothing to do"));
}

TEST_F(TrainerTest, UpdatesNothingWhereNoTokenIsLearnt) {
  const TokenisedRow unlearnt{.ids = {1, 2, 3, 4}, .learnt = {}};
  Job job = tiny_job();
  job.schedule.steps = 1;
  TinyRun run(job, documents_of(std::vector<TokenisedRow>{unlearnt}), store("run"));
  const auto before = run.content();
  run.run();
  EXPECT_EQ(run.content(), before);
  EXPECT_EQ(run.losses(), std::vector<double>{0.0});
  EXPECT_THAT(run.events_of<Warned>()[0].text,
              AllOf(HasSubstr("step 1: no token of it is learnt"), HasSubstr("rows.jsonl:1")));
}

/// A weight that makes every loss NaN.
void poison(TinyRun& run) {
  run.executor->upload("model.norm.weight", [](std::span<std::byte> out) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(out.data(), &nan, sizeof nan);
  });
}

TEST_F(TrainerTest, StopsWhereLossIsNotFiniteAndNamesWhatToLookAt) {
  Job job = tiny_job();
  job.checkpoint.every = 1;
  TinyRun run(job, documents(), store("run"));
  run.trainer.run([&] { return run.losses().size() == 1; });
  poison(run);
  EXPECT_THAT([&] { run.run(); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("step 2: loss is nan"), HasSubstr("expected finite numbers"),
                        HasSubstr("rows.jsonl:"), HasSubstr("the parameters are those of step 1"),
                        HasSubstr("step-00000001"))));
}

TEST_F(TrainerTest, SkipsStepsThatAreNotFiniteWhereAsked) {
  Job job = tiny_job();
  job.optimizer.on_nonfinite = OnNonfinite::skip;
  TinyRun run(job, documents(), store("run"));
  poison(run);
  const auto before = run.content();
  EXPECT_TRUE(run.run().complete);
  EXPECT_EQ(run.content(), before);
  EXPECT_EQ(run.events_of<StepFinished>().back().skipped_steps, 6);
  EXPECT_EQ(run.events_of<Warned>().size(), 6u);
}

TEST_F(TrainerTest, ScoresADocumentThroughTheForwardProgram) {
  TinyRun run(tiny_job(), documents(), store("run"));
  const std::vector<std::int32_t> ids = {5, 9, 200, 31, 7};
  const std::vector<float> scores = run.trainer.score(ids);
  EXPECT_EQ(scores.size(), 4u);
  for (const float score : scores) EXPECT_LT(score, 0.0f);
  EXPECT_THAT([&] { run.trainer.score(std::vector<std::int32_t>(65, 1)); },
              ThrowsMessage<Error>("document: has 65 tokens, expected 2 to 64"));
}

}  // namespace
}  // namespace parhelion::train
