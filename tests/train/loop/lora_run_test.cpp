#include "train/loop/job_digest.h"
#include "train/loop/loop_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace parhelion::train {
namespace {

using testing::Each;
using testing::ThrowsMessage;

Job lora_job(double dropout = 0) {
  Job job = tiny_job();
  job.lora = LoraSettings{.rank = 4, .dropout = dropout};
  job.optimizer.lr = 1e-2;
  return job;
}

class LoraRun : public DataFiles {
 protected:
  std::shared_ptr<const Documents> documents() const {
    return documents_of({20, 35, 9, 50, 2, 41, 28, 33});
  }
  std::filesystem::path store(std::string_view name) const { return directory_ / name; }

  std::vector<double> losses_of(const Job& job, std::string_view name) const {
    TinyRun run(job, documents(), store(name));
    run.run();
    return run.losses();
  }
};

std::vector<float> floats(exec::Executor& executor, std::string_view name) {
  const std::span<const std::byte> bytes = executor.download(name);
  std::vector<float> result(bytes.size() / sizeof(float));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

const std::string kUp = "model.layers.1.mlp.up_proj";
const std::vector<std::int32_t> kIds = {5, 9, 200, 31, 7};

TEST_F(LoraRun, BeginsWithUniformAZeroBAndTheOutputOfTheModel) {
  TinyRun plain(tiny_job(), documents(), store("plain"));
  TinyRun run(lora_job(), documents(), store("run"));
  const std::vector<float> a = floats(*run.executor, kUp + ".lora_a.weight");
  const float bound = 1 / std::sqrt(48.0f);
  EXPECT_THAT(a, Each(testing::AllOf(testing::Ge(-bound), testing::Lt(bound))));
  EXPECT_LT(*std::ranges::min_element(a), -0.8f * bound);
  EXPECT_GT(*std::ranges::max_element(a), 0.8f * bound);
  EXPECT_NE(a, floats(*run.executor, "model.layers.0.mlp.up_proj.lora_a.weight"));
  EXPECT_THAT(run.executor->download(kUp + ".lora_b.weight"), Each(std::byte{0}));
  EXPECT_EQ(run.trainer.score(kIds), plain.trainer.score(kIds));
}

TEST_F(LoraRun, MovesAdaptersAloneAndKeepsThemAlone) {
  TinyRun run(lora_job(), documents(), store("run"));
  const auto before = run.content();
  const std::vector<float> weight = floats(*run.executor, kUp + ".weight");
  const std::vector<float> norm = floats(*run.executor, "model.norm.weight");
  run.run();
  EXPECT_LT(run.losses().back(), 0.9 * run.losses().front());
  EXPECT_EQ(floats(*run.executor, kUp + ".weight"), weight);
  EXPECT_EQ(floats(*run.executor, "model.norm.weight"), norm);
  EXPECT_EQ(before.size(), 14u * 2 * 3) << "A, B and their moments";
  for (const auto& [name, bytes] : run.content()) {
    EXPECT_THAT(name, testing::HasSubstr(".lora_"));
    EXPECT_NE(bytes, before.at(name)) << name;
  }
  const auto saved = saved_parameters(*open_newest_checkpoint(store("run"), Verify::contents));
  EXPECT_EQ(saved.tensors().size(), 28u);
  EXPECT_EQ(saved.at(kUp + ".lora_b.weight").shape, (state::Shape{128, 4}));
}

TEST_F(LoraRun, AdaptsTheProjectionsThatTheJobNames) {
  Job job = lora_job();
  job.lora->targets = R"(model\.layers\.1\..*(up|q)_proj)";
  const TinyRun run(job, documents(), store("run"));
  EXPECT_THAT(run.model.lora->modules,
              testing::ElementsAre("model.layers.1.self_attn.q_proj", kUp));
  job.lora->targets = "up_proj";
  EXPECT_THAT([&] { TinyRun(job, documents(), store("none")); },
              ThrowsMessage<Error>(testing::HasSubstr("the targets match none of the model's")));
}

TEST_F(LoraRun, DropsOtherInputsInEachMicrobatchAndTheSameWhenComputedAgain) {
  Job job = lora_job(0.3);
  job.data.microbatches = 2;
  const std::vector<double> dropped = losses_of(job, "dropped");
  EXPECT_EQ(losses_of(job, "again"), dropped);
  Job layer = job;
  layer.model.recompute = Recompute::layer;
  EXPECT_EQ(losses_of(layer, "layer"), dropped);
  Job seed = job;
  seed.run.seed = 1;
  EXPECT_NE(losses_of(seed, "seed"), dropped);
  EXPECT_NE(losses_of(lora_job(), "kept"), dropped);
}

TEST_F(LoraRun, DrawsAnewForEachMicrobatch) {
  const TinyRun run(lora_job(0.5), documents(), store("run"));
  StepPlans plans(run.programs, run.job, *run.executor);
  // B is zero, so dropout shows in the gradient of B alone.
  const Microbatch batch = one_document(kIds, buckets_of(run.job.data).back());
  const auto gradient_of = [&](std::uint64_t seed) {
    run.executor->clear(kUp + ".lora_b.weight.gradient");
    plans.accumulate(batch, seed);
    return floats(*run.executor, kUp + ".lora_b.weight.gradient");
  };
  EXPECT_EQ(gradient_of(1), gradient_of(1));
  EXPECT_NE(gradient_of(1), gradient_of(2));
}

TEST_F(LoraRun, TellsJobsApartByWhatTheAdaptersCompute) {
  const TinyRun run(lora_job(0.25), documents(), store("run"));
  const auto digest_with = [&](double alpha, double dropout, const std::string& base) {
    Job job = run.job;
    job.lora->alpha = alpha;
    job.lora->dropout = dropout;
    return job_digest(job, run.programs.step, "documents", base);
  };
  const std::string digest = digest_with(16, 0.25, "base");
  EXPECT_EQ(digest_with(16, 0.25, "base"), digest);
  EXPECT_NE(digest_with(8, 0.25, "base"), digest);
  EXPECT_NE(digest_with(16, 0.5, "base"), digest);
  EXPECT_NE(digest_with(16, 0.25, "other"), digest);
}

}  // namespace
}  // namespace parhelion::train
