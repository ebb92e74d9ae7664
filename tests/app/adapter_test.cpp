#include "app/export_model.h"
#include "app/model_test_support.h"
#include "app/train_run.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/adapters/merge.h"
#include "model/adapters/open_adapter.h"
#include "state/convert.h"

#include <gmock/gmock.h>

#include <cmath>

namespace parhelion::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The adapter that Hugging Face's peft made for the tiny model.
std::filesystem::path peft_adapter() {
  return std::filesystem::path(PARHELION_TEST_DATA) / "model" / "peft_tiny";
}

std::map<std::string, std::string> adapter_bytes(const model::OpenedModel& opened) {
  std::map<std::string, std::string> bytes;
  model::load_adapter(opened, [&](const state::TensorView& tensor) {
    bytes[tensor.name] = {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
  });
  return bytes;
}

std::vector<float> wide(const state::TensorView& tensor) {
  std::vector<float> result(static_cast<std::size_t>(*state::element_count(tensor.shape)));
  state::convert(tensor.kind, tensor.bytes, ir::Kind::f32,
                 std::as_writable_bytes(std::span(result)));
  return result;
}

class AdapterFiles : public ModelFilesTest {};

TEST_F(AdapterFiles, AnExportedAdapterIsTheOneThatWasOpened) {
  const model::OpenedModel opened = open_with_adapter(tiny_gguf(), peft_adapter());
  export_adapter(opened, ir::Kind::f32, directory_ / "out");
  EXPECT_THAT(listing(directory_ / "out"),
              ElementsAre("adapter_config.json", "adapter_model.safetensors"));
  const model::OpenedModel again = open_with_adapter(tiny_directory(), directory_ / "out");
  EXPECT_EQ(again.model.lora, opened.model.lora);
  EXPECT_EQ(again.adapter->base, "llama_tiny");
  EXPECT_EQ(adapter_bytes(again), adapter_bytes(opened));
  const state::Checkpoint ours = state::open_checkpoint(directory_ / "out", model::kAdapterStem);
  const state::Checkpoint theirs = state::open_checkpoint(peft_adapter(), model::kAdapterStem);
  for (const state::TensorView& tensor : theirs.tensors())
    EXPECT_EQ(ours.at(tensor.name).shape, tensor.shape) << tensor.name;
  EXPECT_EQ(ours.tensors().size(), theirs.tensors().size());
}

TEST_F(AdapterFiles, AnExportMergesTheAdapterAndRoundsOnce) {
  const model::OpenedModel opened = open_with_adapter(tiny_directory(), peft_adapter());
  export_hugging_face(opened, model_files(tiny_directory()), ir::Kind::bf16, directory_ / "out");
  EXPECT_THAT(listing(directory_ / "out"), testing::Not(Contains("adapter_config.json")));
  const model::OpenedModel exported = model::open_model(directory_ / "out");
  EXPECT_EQ(exported.model.lora, std::nullopt);
  const state::TensorSource merged = model::merged_parameters(opened);
  EXPECT_EQ(exported.checkpoint.tensors().size(), merged.names.size());
  for (const std::string& name : merged.names) {
    const state::TensorView exact = merged.read(name);
    std::vector<std::byte> rounded(exported.checkpoint.at(name).bytes.size());
    state::convert(exact.kind, exact.bytes, ir::Kind::bf16, rounded);
    EXPECT_TRUE(std::ranges::equal(exported.checkpoint.at(name).bytes, rounded)) << name;
  }
}

TEST_F(AdapterFiles, AMergedWeightIsTheSumOfItsParts) {
  const model::OpenedModel opened = open_with_adapter(tiny_directory(), peft_adapter());
  const std::string module = "model.layers.0.mlp.down_proj";
  const state::TensorSource adapter = model::adapter_parameters(opened);
  const std::vector<float> a = wide(adapter.read(model::lora_a_name(module)));
  const std::vector<float> b = wide(adapter.read(model::lora_b_name(module)));
  const std::string weight = model::adapted_weight_name(module);
  const std::vector<float> w = wide(opened.checkpoint.at(weight));
  const std::vector<float> merged = wide(model::merged_parameters(opened).read(weight));
  for (std::size_t i = 0; i < w.size(); ++i) {
    double delta = 0;
    for (std::size_t r = 0; r < 4; ++r)
      delta += double{b[i / 128 * 4 + r]} * double{a[r * 128 + i % 128]};
    ASSERT_NEAR(double{merged[i]}, double{w[i]} + 1.5 * delta, 1e-6) << i;
  }
}

TEST_F(AdapterFiles, NoAdapterIsNoneThatCouldBeExported) {
  EXPECT_THAT(
      [&] {
        export_adapter(model::open_model(tiny_directory()), ir::Kind::f32, directory_ / "out");
      },
      ThrowsMessage<Error>(HasSubstr("has no adapter that could be exported alone")));
  EXPECT_THAT([] { resolve_model(peft_adapter()); },
              ThrowsMessage<Error>(peft_adapter().string() +
                                   ": is an adapter, expected a model; give its base as MODEL and "
                                   "this as --adapter"));
}

/// Runs of a job that trains adapters for a copy of the tiny model.
class AdapterRun : public ModelFilesTest {
 protected:
  void SetUp() override {
    ModelFilesTest::SetUp();
    copy_tiny(base_);
    put(directory_ / "text.jsonl", "{\"text\":\"a parhelion sings in the rain\"}\n");
  }

  train::Job job(std::int64_t steps) const {
    train::Job job;
    job.run = {.directory = directory_ / "run", .threads = 1};
    job.model.path = base_;
    job.lora = train::LoraSettings{.rank = 4, .dropout = 0.05};
    job.data.files = {directory_ / "text.jsonl"};
    job.data.sequence_tokens = job.data.microbatch_tokens = 32;
    job.data.buckets = {32};
    job.data.epochs = 0;
    job.data.cache = directory_ / "cache";
    job.optimizer.lr = 1e-2;
    job.schedule.steps = steps;
    job.log.tensorboard = false;
    return job;
  }

  void train(const train::Job& job) {
    run_training(
        job,
        {.print_line = [this](std::string_view line) { lines_ += std::string(line) + "\n"; },
         .show_progress = [](std::string_view) {}},
        [](std::int64_t) { return false; });
  }

  /// Another model of the same shape in the base's place.
  void change_base() const {
    const std::filesystem::path file = base_ / "model.safetensors";
    std::string bytes = read_file(file);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    put(file, bytes);
  }

  std::filesystem::path base_ = directory_ / "base";
  std::filesystem::path checkpoint_ = directory_ / "run" / "checkpoints" / "step-00000040";
  std::string lines_;
};

TEST_F(AdapterRun, GeneratesFromTheAdaptersOfTheStep) {
  train::Job with_prompt = job(40);
  with_prompt.evaluation.emplace();
  with_prompt.evaluation->every = 40;
  with_prompt.evaluation->prompts = {"a parhelion"};
  with_prompt.evaluation->max_tokens = 24;
  train(with_prompt);
  EXPECT_THAT(lines_, HasSubstr(R"(step 40: "a parhelion" -> " sings in the rain")"));
}

TEST_F(AdapterRun, SavesAModelThatOpensWithItsBase) {
  train(job(40));
  const model::OpenedModel opened =
      model::open_model(directory_ / "run" / "checkpoints" / "step-00000040");
  EXPECT_EQ(opened.model.lora->modules.size(), 14u);
  EXPECT_EQ(opened.adapter->base, base_.string());
  EXPECT_EQ(opened.checkpoint.where(), model::open_model(base_).checkpoint.where());
  const Json config =
      parse_json(read_file(checkpoint_ / "adapter_config.json"), "adapter_config.json");
  EXPECT_EQ(*config.find("target_modules"), Json(Json::Array{"q_proj", "k_proj", "v_proj", "o_proj",
                                                             "gate_proj", "up_proj", "down_proj"}));
}

TEST_F(AdapterRun, GoesOnWithItsBaseAlone) {
  train(job(20));
  train(job(40));
  EXPECT_THAT(lines_, HasSubstr("going on after step 20 of 40"));
  change_base();
  EXPECT_THAT([&] { train(job(60)); }, ThrowsMessage<Error>(HasSubstr("is of another job")));
  EXPECT_THAT([&] { model::open_model(checkpoint_); },
              ThrowsMessage<Error>(AllOf(HasSubstr("step-00000040: was trained on other weights"),
                                         HasSubstr(base_.string()))));
  std::filesystem::remove_all(base_);
  EXPECT_THAT(
      [&] { model::open_model(checkpoint_); },
      ThrowsMessage<Error>(HasSubstr("its base model '" + base_.string() + "' is not there")));
}

TEST_F(AdapterRun, RefusesToTrainOnTopOfAnAdapter) {
  train(job(20));
  train::Job second = job(20);
  second.model.path = directory_ / "run";
  second.run.directory = directory_ / "second";
  EXPECT_THAT([&] { train(second); },
              ThrowsMessage<Error>(HasSubstr("is an adapter, expected a whole model, as `parhelion "
                                             "export` makes of it")));
}

}  // namespace
}  // namespace parhelion::app
