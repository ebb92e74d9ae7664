#include "train/loop/step_plans.h"

#include "base/error.h"
#include "train/loop/loop_support.h"

#include <gmock/gmock.h>

namespace parhelion::train {
namespace {

using testing::ThrowsMessage;

/// A device without memory.
class FullExecutor final : public exec::Executor {
 public:
  std::unique_ptr<exec::Plan> plan(const ir::Program&, exec::Weights) override {
    fail(ErrorKind::exhausted, "device: 3 GiB are missing");
  }
  void upload(std::string_view, const std::function<void(std::span<std::byte>)>&) override {}
  std::span<const std::byte> download(std::string_view) override { return {}; }
  std::shared_ptr<std::byte> snapshot_memory(std::int64_t) override { return {}; }
  void copy_out(std::string_view, std::span<std::byte>) override {}
  void clear(std::string_view) override {}
  std::vector<ir::Buffer> parameters() const override { return {}; }
  std::string describe() const override { return "full"; }
};

TEST(StepPlans, SayWhichSettingsAskForLessMemory) {
  Job job = tiny_job();
  const model::OpenedModel opened = model::open_model(model::golden_path("llama_tiny"));
  const TrainingPrograms programs = build_programs(opened.model, job);
  FullExecutor executor;
  const auto expect_hint = [&](const std::string& others) {
    EXPECT_THAT([&] { StepPlans(programs, job, executor); },
                ThrowsMessage<Error>("device: 3 GiB are missing; a pass of 64 tokens asks for less "
                                     "where data.microbatch_tokens is lower" +
                                     others));
  };
  expect_hint(", model.recompute is \"selective\" or \"layer\", or model.memory_budget is given");
  job.model.recompute = Recompute::selective;
  expect_hint(", model.recompute is \"layer\", or model.memory_budget is given in its place");
  job.model.recompute = Recompute::layer;
  expect_hint("");
  job.model.recompute = Recompute::automatic;
  job.model.memory_budget = "1GiB";
  expect_hint(" or model.memory_budget is");
}

}  // namespace
}  // namespace parhelion::train
