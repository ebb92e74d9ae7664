#include "train/loop/loop_support.h"

#include <gtest/gtest.h>

#include <numeric>

namespace parhelion::train {
namespace {

constexpr std::int64_t kSteps = 200;
constexpr std::int64_t kDocuments = 4;
constexpr std::int64_t kTokens = 16;

/// Runs that tests/golden/train_curve.py made with PyTorch.
class GoldenCurve {
 public:
  explicit GoldenCurve(std::string run)
      : run_(std::move(run)),
        golden_(state::open_checkpoint(std::filesystem::path(PARHELION_TEST_DATA) /
                                       "train/curve.safetensors")) {}

  float loss(std::int64_t step) const { return number(run_ + ".loss", step); }
  float norm(std::int64_t step) const { return number(run_ + ".norm", step); }
  float lr(std::int64_t step) const { return number("lr", step); }

  /// The documents [first, first + count) of a step.
  Microbatch microbatch(std::int64_t step, std::int64_t first, std::int64_t count) const {
    const auto* ids = reinterpret_cast<const std::int32_t*>(golden_.at("ids").bytes.data());
    Microbatch batch;
    batch.capacity_tokens = count * kTokens;
    batch.capacity_documents = count;
    batch.document_indptr.push_back(0);
    for (std::int64_t d = first; d < first + count; ++d) {
      const std::int32_t* document = ids + (step * kDocuments + d) * (kTokens + 1);
      for (std::int64_t t = 0; t < kTokens; ++t) {
        batch.token_ids.push_back(document[t]);
        batch.labels.push_back(document[t + 1]);
        batch.positions.push_back(static_cast<std::int32_t>(t));
        batch.loss_weight.push_back(1);
      }
      batch.document_indptr.push_back(static_cast<std::int32_t>(batch.token_ids.size()));
    }
    batch.weight = static_cast<double>(count * kTokens);
    return batch;
  }

 private:
  float number(const std::string& name, std::int64_t step) const {
    return reinterpret_cast<const float*>(golden_.at(name).bytes.data())[step];
  }
  std::string run_;
  state::Checkpoint golden_;
};

OptimizerSettings optimizer_of(const std::string& run) {
  OptimizerSettings settings;
  settings.lr = 1;
  settings.beta2 = run == "adamw" ? 0.95 : 0.999;
  settings.weight_decay = run == "adamw" ? 0.1 : 0.01;
  if (run == "adam") settings.kind = OptimizerKind::adam;
  if (run == "sgd") {
    settings.kind = OptimizerKind::sgd;
    settings.momentum = 0.9;
    settings.nesterov = true;
    settings.weight_decay = 0;
  }
  return settings;
}

/// The step plans of the tiny model, for microbatches of `documents` documents.
class CurveRun {
 public:
  CurveRun(const OptimizerSettings& optimizer, std::int64_t documents)
      : opened_(model::open_model(model::golden_path("llama_tiny"))),
        executor_(exec::make_cpu_executor({.threads = 1})) {
    job_.data = data_settings(kTokens, documents * kTokens);
    job_.optimizer = optimizer;
    const TrainingPrograms programs = build_programs(opened_.model, job_);
    plans_ = std::make_unique<StepPlans>(programs, job_, *executor_);
    model::load_parameters(opened_, [&](const state::TensorView& tensor) {
      executor_->upload(tensor.name, [&](std::span<std::byte> out) {
        std::ranges::copy(tensor.bytes, out.begin());
      });
    });
  }

  StepResult step(const GoldenCurve& curve, std::int64_t step) {
    const std::int64_t documents = job_.data.microbatch_tokens / kTokens;
    for (std::int64_t first = 0; first < kDocuments; first += documents)
      plans_->accumulate(padded(curve.microbatch(step, first, documents)), 0);
    return plans_->update({.lr = static_cast<double>(curve.lr(step)), .update = step + 1});
  }

 private:
  /// The plans are for as many documents as a bucket holds; those behind the last are empty.
  static Microbatch padded(Microbatch batch) {
    batch.capacity_documents = bucket_of(batch.capacity_tokens).documents;
    batch.document_indptr.resize(static_cast<std::size_t>(batch.capacity_documents) + 1,
                                 batch.document_indptr.back());
    return batch;
  }

  Job job_;
  model::OpenedModel opened_;
  std::unique_ptr<exec::Executor> executor_;
  std::unique_ptr<StepPlans> plans_;
};

class TrainingCurve : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, TrainingCurve, testing::Values("adamw", "adam", "sgd"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(TrainingCurve, EqualsThatOfPyTorchAtEveryStep) {
  const GoldenCurve curve(GetParam());
  CurveRun run(optimizer_of(GetParam()), kDocuments);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const StepResult result = run.step(curve, step);
    ASSERT_TRUE(result.applied);
    ASSERT_NEAR(result.loss, curve.loss(step), 1e-4f * curve.loss(step)) << "step " << step;
    ASSERT_NEAR(result.norm, curve.norm(step), 1e-3f * curve.norm(step)) << "step " << step;
  }
}

TEST(Accumulation, OverFourMicrobatchesEqualsOneOfFour) {
  const GoldenCurve curve("adamw");
  CurveRun whole(optimizer_of("adamw"), 4);
  CurveRun parts(optimizer_of("adamw"), 1);
  for (std::int64_t step = 0; step < 20; ++step) {
    const StepResult a = whole.step(curve, step), b = parts.step(curve, step);
    ASSERT_EQ(a.weight, b.weight);
    ASSERT_NEAR(a.loss, b.loss, 1e-6f * a.loss) << "step " << step;
    ASSERT_NEAR(a.norm, b.norm, 1e-5f * a.norm) << "step " << step;
  }
}

}  // namespace
}  // namespace parhelion::train
