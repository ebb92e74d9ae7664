#include "app/train_model.h"
#include "app/weights.h"
#include "base/file.h"
#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "prepare/make_contract.h"
#include "serve/complete.h"
#include "support/test_directory.h"
#include "train/data/load.h"
#include "train/loop/trainer.h"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace parhelion::app {
namespace {

/// What is trained and how it is stored.
struct TrainServeCase {
  ir::Kind kind;
  bool adapters;
};

/// A trainer of the golden model `llama_tiny`, or of adapters for it, on a few sentences, and a
/// server on its weights.
class TrainServe : public TestDirectory, public testing::WithParamInterface<TrainServeCase> {
 protected:
  void SetUp() override {
    TestDirectory::SetUp();
    std::ofstream(directory_ / "text.jsonl")
        << R"({"text":"a parhelion is a bright spot beside the sun"})"
        << "\n"
        << R"({"text":"ice in the air bends the light by twenty two degrees"})"
        << "\n";
    job_.model.dtype =
        GetParam().kind == ir::Kind::f32 ? train::NumberFormat::f32 : train::NumberFormat::bf16;
    job_.model.path = std::filesystem::path(PARHELION_TEST_DATA) / "model/llama_tiny";
    if (GetParam().adapters) job_.lora = train::LoraSettings{.rank = 4, .dropout = 0.1};
    job_.data.sequence_tokens = 64;
    job_.data.microbatch_tokens = 128;
    job_.data.buckets = {128};
    job_.data.epochs = 0;
    job_.optimizer.lr = 1e-3;
    job_.schedule.steps = 20;
    trained_ = std::make_unique<TrainedModel>(open_trained_model(job_));
    programs_ = train::build_programs(trained_->model, job_);
    executor_ = exec::make_cpu_executor({.threads = 2});
    trainer_ = std::make_unique<train::Trainer>(train::TrainerParts{
        .job = job_,
        .job_digest = "digest",
        .programs = programs_,
        .executor = *executor_,
        .documents = documents(),
        .on_event = [](const train::Event&) {},
        .store = {.directory = directory_ / "checkpoints", .model_files = model_files(*trained_)}});
    upload_first_weights(*trained_, job_, train::saved_parameter_buffers(programs_.step),
                         *executor_);
    ids_.reserve(100);
    for (std::uint64_t i = 0; i < 100; ++i)
      ids_.push_back(static_cast<std::int32_t>(philox(3, i, 0)[0] % 300));
  }

  std::shared_ptr<const train::Documents> documents() const {
    return std::make_shared<const train::Documents>(train::load_documents(
        {.files = {directory_ / "text.jsonl"}, .cache = directory_ / "cache", .threads = 1},
        token_rules(*trained_)));
  }

  /// A server whose instances take `chunk` tokens and read the executor's parameters in place.
  std::unique_ptr<serve::Engine> engine(std::int64_t chunk) {
    return std::make_unique<serve::Engine>(
        prepare::make_contract(trained_->model, {.kind = GetParam().kind,
                                                 .context_tokens = 128,
                                                 .catalogue = {prepare::one_row(chunk, chunk)}}),
        *executor_, serve::EngineSettings{.weights = exec::Weights::trained});
  }

  static std::vector<std::uint32_t> bits(const std::vector<float>& values) {
    std::vector<std::uint32_t> result;
    result.reserve(values.size());
    for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
    return result;
  }

  train::Job job_;
  std::unique_ptr<TrainedModel> trained_;
  train::TrainingPrograms programs_;
  std::unique_ptr<exec::Executor> executor_;
  std::unique_ptr<train::Trainer> trainer_;
  std::vector<std::int32_t> ids_;
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, TrainServe,
    testing::Values(TrainServeCase{ir::Kind::f32, false}, TrainServeCase{ir::Kind::bf16, false},
                    TrainServeCase{ir::Kind::f32, true}, TrainServeCase{ir::Kind::bf16, true}),
    [](const auto& each) {
      return std::string(ir::name(each.param.kind)) + (each.param.adapters ? "_adapters" : "");
    });

TEST_P(TrainServe, ServerAndTrainerHaveTheSameBitsAfterTwentySteps) {
  ASSERT_TRUE(trainer_->run([] { return false; }).complete);
  const auto trained = bits(trainer_->score(ids_));
  for (const std::int64_t chunk : {1, 7, 64, 100})
    EXPECT_EQ(bits(serve::score(*engine(chunk), ids_)), trained) << "chunk " << chunk;
}

TEST_P(TrainServe, AFileOfTheWeightsGivesTheSameBits) {
  ASSERT_TRUE(trainer_->run([] { return false; }).complete);
  const auto trained = bits(trainer_->score(ids_));
  const model::OpenedModel saved = model::open_model(directory_ / "checkpoints" / "step-00000020");
  const auto executor = exec::make_cpu_executor({.threads = 1});
  serve::Engine engine(
      prepare::make_contract(saved.model, {.kind = GetParam().kind,
                                           .context_tokens = 128,
                                           .catalogue = {prepare::one_row(32, 32)}}),
      *executor, {});
  upload_weights(saved, GetParam().kind, *executor);
  EXPECT_EQ(bits(serve::score(engine, ids_)), trained);
}

TEST_P(TrainServe, ServerReadsTheTrainersBuffersInPlaceAndSeesEachUpdate) {
  const std::string name = train::saved_parameter_buffers(programs_.step).back().name;
  const std::byte* address = executor_->download(name).data();
  const auto server = engine(32);
  EXPECT_EQ(executor_->download(name).data(), address);
  std::vector<std::uint32_t> before = bits(serve::score(*server, ids_));
  EXPECT_EQ(before, bits(trainer_->score(ids_)));
  std::int64_t step = 0;
  trainer_->run([&] {
    const auto now = bits(serve::score(*server, ids_));
    EXPECT_EQ(now, bits(trainer_->score(ids_))) << "step " << step;
    EXPECT_EQ(now == before, step == 0) << "step " << step;
    before = now;
    return ++step > 4;
  });
  EXPECT_EQ(executor_->download(name).data(), address);
}

}  // namespace
}  // namespace parhelion::app
