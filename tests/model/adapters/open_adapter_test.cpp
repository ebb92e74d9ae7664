#include "model/adapters/open_adapter.h"

#include "base/error.h"
#include "base/file.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/passes/lower.h"
#include "model/adapters/merge.h"
#include "model/checkpoint_test_support.h"
#include "model/programs.h"
#include "state/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>

namespace parhelion::model {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::string kQuery = "model.layers.1.self_attn.q_proj";

std::filesystem::path gguf_base() {
  return std::filesystem::path(PARHELION_TEST_DATA) / "app" / "llama_tiny.gguf";
}

/// Tests over the adapter that tests/golden/peft_adapter.py makes, and damaged copies of it.
class OpenAdapter : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static OpenedModel base() { return open_model(golden_path("llama_tiny")); }
  static OpenedModel adapted() { return with_adapter(base(), golden_path("peft_tiny")); }

  /// A copy of the adapter whose config has `key` set, as tensors `change` leaves them.
  std::filesystem::path changed_adapter(
      const std::string& key, Json value,
      const std::function<void(std::vector<state::TensorView>&)>& change = [](auto&) {}) const {
    const std::filesystem::path source = golden_path("peft_tiny");
    Json::Object config =
        parse_json(read_file(source / kAdapterConfigName), "config").as_object("config");
    std::erase_if(config, [&](const Json::Member& member) { return member.first == key; });
    config.emplace_back(key, std::move(value));
    std::ofstream(directory_ / kAdapterConfigName) << write_json(config);
    const state::Checkpoint checkpoint = state::open_checkpoint(source, kAdapterStem);
    std::vector<state::TensorView> tensors(checkpoint.tensors().begin(),
                                           checkpoint.tensors().end());
    change(tensors);
    std::filesystem::remove(directory_ / "adapter_model.safetensors");
    state::write_safetensors(directory_ / "adapter_model.safetensors", std::move(tensors));
    return directory_;
  }

  std::filesystem::path directory_ = std::filesystem::path(testing::TempDir()) /
                                     "parhelion_adapter" /
                                     testing::UnitTest::GetInstance()->current_test_info()->name();
};

std::vector<std::int32_t> golden_ids() {
  const state::Checkpoint golden =
      state::open_checkpoint(golden_path("peft_tiny") / "golden.safetensors");
  std::vector<std::int32_t> ids(static_cast<std::size_t>(golden.at("ids").shape[0]));
  std::memcpy(ids.data(), golden.at("ids").bytes.data(), ids.size() * sizeof ids[0]);
  return ids;
}

std::vector<float> golden_values(const std::string& name) {
  const state::Checkpoint golden =
      state::open_checkpoint(golden_path("peft_tiny") / "golden.safetensors");
  return values_of(golden.at(name));
}

/// The log-probability of each golden id after the first, through the forward program.
std::vector<float> log_probabilities(const Model& model,
                                     const std::function<void(const state::TensorSink&)>& load) {
  const std::vector<std::int32_t> ids = golden_ids();
  const auto executor = exec::make_cpu_executor({.threads = 1});
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = std::ssize(ids);
  capacities[ir::Symbol::documents] = 1;
  const auto plan = executor->plan(ir::lower(build_train(model, ir::Kind::f32).program, capacities),
                                   exec::Weights::frozen);
  load([&](const state::TensorView& tensor) {
    executor->upload(tensor.name, [&](std::span<std::byte> out) {
      state::convert(tensor.kind, tensor.bytes, ir::Kind::f32, out);
    });
  });
  std::ranges::copy(ids, exec::host_span<std::int32_t>(*plan, "token_ids").begin());
  std::copy(ids.begin() + 1, ids.end(), exec::host_span<std::int32_t>(*plan, "labels").begin());
  exec::host_span<std::int32_t>(*plan, "labels").back() = -100;
  const auto positions = exec::host_span<std::int32_t>(*plan, "positions");
  std::iota(positions.begin(), positions.end(), 0);
  exec::host_span<std::int32_t>(*plan, "document_indptr")[0] = 0;
  exec::host_span<std::int32_t>(*plan, "document_indptr")[1] =
      static_cast<std::int32_t>(ids.size());
  plan->run();
  std::vector<float> result;
  for (const float loss : exec::host_span<float>(*plan, "loss").first(ids.size() - 1))
    result.push_back(0.0f - loss);
  return result;
}

std::vector<float> log_probabilities(const OpenedModel& opened) {
  return log_probabilities(opened.model,
                           [&](const state::TensorSink& sink) { load_parameters(opened, sink); });
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST_F(OpenAdapter, ComputesWhatPeftComputes) {
  const OpenedModel opened = adapted();
  EXPECT_EQ(opened.model.lora->modules.size(), 6u);
  EXPECT_EQ(opened.model.lora->rank, 4);
  const std::vector<float> golden = golden_values("log_probability");
  EXPECT_LT(largest_difference(log_probabilities(opened), golden), 2e-5f);
  EXPECT_GT(largest_difference(log_probabilities(base()), golden), 0.1f) << "the adapter matters";
}

TEST_F(OpenAdapter, StandsBesideAModelOfAnotherFormat) {
  const OpenedModel opened = with_adapter(open_model(gguf_base()), golden_path("peft_tiny"));
  EXPECT_EQ(log_probabilities(opened), log_probabilities(adapted()));
}

TEST_F(OpenAdapter, TakesTheModulesOfTheTensorsWhereThePatternIsPythons) {
  const auto directory = changed_adapter("target_modules", ".*(q|v|down)_proj");
  EXPECT_EQ(with_adapter(base(), directory).model.lora, adapted().model.lora);
}

TEST_F(OpenAdapter, MergesIntoTheWeightsThatPeftMerges) {
  const OpenedModel opened = adapted();
  const state::TensorSource merged = merged_parameters(opened);
  const std::vector<float> weight = values_of(merged.read(adapted_weight_name(kQuery)));
  EXPECT_LT(largest_difference(weight, golden_values("merged." + adapted_weight_name(kQuery))),
            1e-6f);
  const std::string norm = "model.norm.weight";
  EXPECT_EQ(merged.read(norm).bytes.data(), opened.checkpoint.at(norm).bytes.data())
      << "is a view where there is no adapter";
}

TEST_F(OpenAdapter, MergedGivesWhatIsKeptApartGives) {
  const OpenedModel opened = adapted();
  const state::TensorSource merged = merged_parameters(opened);
  const std::vector<float> values =
      log_probabilities(base_of(opened.model), [&](const state::TensorSink& sink) {
        for (const std::string& name : merged.names) sink(merged.read(name));
      });
  EXPECT_LT(largest_difference(values, log_probabilities(opened)), 2e-5f);
  EXPECT_NE(values, log_probabilities(opened)) << "merging rounds";
}

TEST_F(OpenAdapter, RefusesARankThatTheTensorsDoNotHave) {
  const auto directory = changed_adapter("r", 8);
  EXPECT_THAT([&] { with_adapter(base(), directory); },
              ThrowsMessage<Error>(AllOf(HasSubstr(directory.string()),
                                         HasSubstr("lora_a.weight' has shape [4, "),
                                         HasSubstr("], expected [8, "))));
}

TEST_F(OpenAdapter, RefusesABaseOfAnotherShape) {
  EXPECT_THAT([] { with_adapter(open_model(golden_path("llama_tied")), golden_path("peft_tiny")); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("peft_tiny"),
                        HasSubstr("lora_a.weight' has shape [4, 128], expected [4, 44]"))));
}

TEST_F(OpenAdapter, NamesTensorsThatAreMissingOrUnknown) {
  const std::string name = peft_lora_b_name(kQuery);
  EXPECT_THAT(
      [&] {
        with_adapter(base(), changed_adapter("r", 4, [&](auto& tensors) {
                       std::erase_if(tensors, [&](const auto& each) { return each.name == name; });
                     }));
      },
      ThrowsMessage<Error>(HasSubstr("lacks 1 of the tensors it should have: '" + name + "'")));
  EXPECT_THAT(
      [&] {
        with_adapter(base(), changed_adapter("r", 4, [&](auto& tensors) {
                       tensors.push_back(tensors.front());
                       tensors.back().name = "base_model.model.lm_head.lora_A.weight";
                     }));
      },
      ThrowsMessage<Error>(HasSubstr("has 1 tensors that nothing reads: "
                                     "'base_model.model.lm_head.lora_A.weight'")));
}

TEST_F(OpenAdapter, RefusesTargetsThatTheModelLacks) {
  const auto directory = changed_adapter("target_modules", Json::Array{"query_key_value"});
  EXPECT_THAT([&] { with_adapter(base(), directory); },
              ThrowsMessage<Error>(HasSubstr("lora: the targets match none of the model's 14")));
}

TEST_F(OpenAdapter, RefusesASecondAdapter) {
  EXPECT_THAT([&] { with_adapter(adapted(), golden_path("peft_tiny")); },
              ThrowsMessage<Error>(HasSubstr("has an adapter already")));
}

TEST_F(OpenAdapter, ComparesTheBaseWithTheOneItWasTrainedOn) {
  const std::string digest = weights_digest(base().checkpoint);
  EXPECT_NO_THROW(with_adapter(base(), changed_adapter("base_digest", digest)));
  const auto directory = changed_adapter("base_digest", "00");
  EXPECT_THAT([&] { with_adapter(base(), directory); },
              ThrowsMessage<Error>(AllOf(
                  HasSubstr("was trained on other weights than those of"), HasSubstr("llama_tiny"),
                  HasSubstr("their digest is " + digest + ", expected 00"))));
}

TEST_F(OpenAdapter, IsNoModelByItself) {
  EXPECT_TRUE(is_adapter(golden_path("peft_tiny")));
  EXPECT_FALSE(is_adapter(golden_path("llama_tiny")));
  EXPECT_THAT([] { open_model(golden_path("peft_tiny")); },
              ThrowsMessage<Error>(HasSubstr("peft_tiny: is an adapter, expected a model; open its "
                                             "base with this directory as its adapter")));
}

/// A copy of the adapter as training saves it: our names, and the base's path and digest.
class AdapterCheckpoint : public OpenAdapter {
 protected:
  std::filesystem::path checkpoint_on(const std::filesystem::path& path) const {
    auto directory = changed_adapter("base_model_name_or_path", path.string());
    const OpenedModel opened = adapted();
    state::SafetensorsWriter writer(directory, state::kDefaultShardBytes, kParametersStem);
    load_adapter(opened, [&](state::TensorView tensor) { writer.add(std::move(tensor)); });
    writer.finish();
    std::filesystem::remove(directory / "adapter_model.safetensors");
    return directory;
  }
};

TEST_F(AdapterCheckpoint, OpensWithItsBase) {
  const OpenedModel opened = open_model(checkpoint_on(golden_path("llama_tiny")));
  EXPECT_EQ(opened.adapter->base, golden_path("llama_tiny").string());
  EXPECT_EQ(log_probabilities(opened), log_probabilities(adapted()));
}

TEST_F(AdapterCheckpoint, SaysThatItsBaseIsGoneAndTakesAnother) {
  const auto directory = checkpoint_on("/nowhere/base");
  EXPECT_THAT([&] { open_model(directory); },
              ThrowsMessage<Error>(directory.string() +
                                   ": its base model '/nowhere/base' is not there; open the base "
                                   "with this directory as its adapter"));
  EXPECT_EQ(log_probabilities(with_adapter(open_model(gguf_base()), directory)),
            log_probabilities(adapted()));
}

TEST_F(AdapterCheckpoint, RefusesABaseThatIsAnAdapter) {
  const auto directory = checkpoint_on(golden_path("peft_tiny"));
  EXPECT_THAT([&] { open_model(directory); },
              ThrowsMessage<Error>(HasSubstr("is an adapter itself, expected a whole model")));
}

TEST(WeightsDigest, IsAFunctionOfTheTensorsAlone) {
  const auto digest_of = [](std::vector<state::TensorView> tensors) {
    return weights_digest(state::Checkpoint("test", {}, std::move(tensors)));
  };
  const state::TensorView a = counting_tensor("a", {2, 3}, 1), b = counting_tensor("b", {4}, 1);
  EXPECT_EQ(digest_of({a, b}), digest_of({b, a}));
  EXPECT_NE(digest_of({a, b}), digest_of({a, counting_tensor("b", {4}, 2)}));
  EXPECT_NE(digest_of({a, b}), digest_of({a, counting_tensor("b", {2, 2}, 1)}));
  EXPECT_NE(digest_of({a, b}), digest_of({a, counting_tensor("c", {4}, 1)}));
}

}  // namespace
}  // namespace parhelion::model
