#include "train/config/byte_size.h"
#include "train/loop/job_report.h"
#include "train/loop/loop_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parhelion::train {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

struct RecomputeCase {
  std::string name;
  std::string golden;
  NumberFormat dtype = NumberFormat::f32;
  bool is_adapted = false;
};

Job job_of(const RecomputeCase& each) {
  Job job = tiny_job();
  job.model.dtype = each.dtype;
  job.data.microbatches = 2;
  job.schedule.steps = 2;
  if (each.is_adapted) job.lora = LoraSettings{.rank = 4, .dropout = 0.2};
  return job;
}

/// The job within the given share of what its activations can be brought down by.
Job job_within(Job job, const TrainingPrograms& programs, double share) {
  const auto total = [&](Recompute recompute) {
    job.model.recompute = recompute;
    return static_cast<double>(cost_job(programs, job).memory.total());
  };
  const double least = total(Recompute::layer);
  const double bytes = least + share * (total(Recompute::none) - least);
  job.model.recompute = Recompute::automatic;
  job.model.memory_budget = fmt::format("{}", static_cast<std::int64_t>(bytes));
  return job;
}

/// Every way to recompute of one job.
std::vector<Job> recomputing_jobs(const Job& job, const TrainingPrograms& programs) {
  std::vector<Job> result;
  for (const Recompute recompute : {Recompute::selective, Recompute::layer}) {
    result.push_back(job);
    result.back().model.recompute = recompute;
  }
  for (const double share : {0.0, 0.6}) result.push_back(job_within(job, programs, share));
  return result;
}

/// Sums of gradients after two microbatches of a job.
std::map<std::string, std::vector<std::byte>> gradients_of(TinyRun& run) {
  StepPlans plans(run.programs, run.job, *run.executor);
  const std::vector<std::int32_t> ids = {5, 9, 200, 31, 7, 80, 81, 3};
  const Bucket bucket = buckets_of(run.job.data).back();
  plans.accumulate(one_document(ids, bucket), 11);
  plans.accumulate(one_document(std::span(ids).last(5), bucket), 12);
  std::map<std::string, std::vector<std::byte>> result;
  for (const ir::Buffer& buffer : run.programs.step.buffers) {
    if (!buffer.name.ends_with(".gradient")) continue;
    const auto bytes = run.executor->download(buffer.name);
    result[buffer.name].assign(bytes.begin(), bytes.end());
  }
  return result;
}

class RecomputeBits : public DataFiles, public testing::WithParamInterface<RecomputeCase> {
 protected:
  TinyRun make_run(const Job& job, std::string_view name) const {
    return TinyRun(job, documents_of({20, 35, 9, 50, 2, 41, 28, 33}), directory_ / name, 1,
                   GetParam().golden);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Jobs, RecomputeBits,
    testing::Values(RecomputeCase{"llama_f32", "llama_tiny"},
                    RecomputeCase{"qwen3_bf16", "qwen3_tied", NumberFormat::bf16},
                    RecomputeCase{"adapters_f32", "qwen3_tied", NumberFormat::f32, true},
                    RecomputeCase{"adapters_bf16", "llama_tiny", NumberFormat::bf16, true}),
    [](const auto& each) { return each.param.name; });

TEST_P(RecomputeBits, AreThoseOfAStepThatKeepsAll) {
  const Job job = job_of(GetParam());
  TinyRun kept = make_run(job, "kept");
  const auto gradients = gradients_of(kept);
  ASSERT_FALSE(gradients.empty());
  TinyRun kept_run = make_run(job, "kept_run");
  kept_run.run();
  std::size_t number = 0;
  for (const Job& again : recomputing_jobs(job, kept.programs)) {
    SCOPED_TRACE(number);
    TinyRun first = make_run(again, fmt::format("first{}", number));
    EXPECT_EQ(gradients_of(first), gradients);
    TinyRun run = make_run(again, fmt::format("run{}", number++));
    run.run();
    EXPECT_EQ(run.losses(), kept_run.losses());
    EXPECT_EQ(run.content(), kept_run.content());
  }
}

TEST_P(RecomputeBits, AreKeptWhenARunGoesOnUnderAnotherPolicy) {
  Job job = job_of(GetParam());
  job.checkpoint.every = 1;
  TinyRun whole = make_run(job, "whole");
  whole.run();
  const auto checkpoint =
      open_train_checkpoint(directory_ / "whole/step-00000001", Verify::contents);
  for (const Job& again : recomputing_jobs(job, whole.programs)) {
    TinyRun rest = make_run(again, "rest");
    rest.trainer.resume(checkpoint);
    rest.run();
    EXPECT_EQ(rest.content(), whole.content());
  }
}

class RecomputeReport : public testing::Test {
 protected:
  RecomputeReport()
      : job_(tiny_job()),
        opened_(model::open_model(model::golden_path("llama_tiny"))),
        programs_(build_programs(opened_.model, job_)) {}

  std::string plan(const Job& job) const { return describe_plan(programs_, job, 6, 1e9); }

  Job job_;
  model::OpenedModel opened_;
  TrainingPrograms programs_;
};

TEST_F(RecomputeReport, NamesWhatIsComputedAgain) {
  EXPECT_THAT(plan(job_), Not(HasSubstr("recompute")));
  job_.model.recompute = Recompute::selective;
  EXPECT_THAT(plan(job_), HasSubstr("recompute: selective, 5 rms_norm, 2 swiglu; "));
}

TEST_F(RecomputeReport, WorksLessTheMoreMemoryThereIs) {
  RecomputeCost last{.op_counts = {}, .work_share = 1};
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const Job job = job_within(job_, programs_, share);
    const JobCost cost = cost_job(programs_, job);
    EXPECT_LE(cost.memory.total(), *parse_byte_size(*job.model.memory_budget));
    EXPECT_LE(cost.recompute.work_share, last.work_share);
    last = cost.recompute;
  }
  EXPECT_TRUE(last.op_counts.empty());
  EXPECT_THAT(plan(job_within(job_, programs_, 1)), HasSubstr("recompute: auto, nothing\n"));
}

TEST_F(RecomputeReport, SaysHowMuchABudgetIsTooSmall) {
  job_.model.recompute = Recompute::automatic;
  job_.model.memory_budget = "1MiB";
  EXPECT_THAT(
      [&] { plan(job_); },
      ThrowsMessage<Error>(
          "model.memory_budget is 1MiB, of which all but activations takes 1.0 MiB; a pass of 64 "
          "tokens: recompute: activations need 0.3 MiB with all computed again that can be, 0.4 "
          "MiB too "
          "many; it fits if the budget is larger by that, or data.microbatch_tokens lower"));
}

}  // namespace
}  // namespace parhelion::train
