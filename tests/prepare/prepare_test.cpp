#include "base/bf16.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "contract/core.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/passes/instantiate.h"
#include "ir/passes/lower.h"
#include "model/adapters/merge.h"
#include "model/adapters/open_adapter.h"
#include "prepare/frontend.h"
#include "prepare/prepare_core.h"
#include "support/test_directory.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace parhelion::prepare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::filesystem::path tiny() {
  return std::filesystem::path(PARHELION_TEST_DATA) / "model" / "llama_tiny";
}
std::filesystem::path tiny_adapter() {
  return std::filesystem::path(PARHELION_TEST_DATA) / "model" / "peft_tiny";
}

contract::Frontend tiny_frontend() {
  return make_frontend(
      {{.name = "tokenizer.json", .bytes = read_file(tiny() / "tokenizer.json")},
       {.name = "tokenizer_config.json", .bytes = read_file(tiny() / "tokenizer_config.json")}},
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}");
}

PrepareOptions tiny_options(ir::Kind kind = ir::Kind::bf16) {
  PrepareOptions options;
  options.core.shape = {.kind = kind,
                        .context_tokens = 128,
                        .catalogue = serving_catalogue(4, 64),
                        .slots = 4,
                        .edited_catalogue = serving_catalogue(4, 64)};
  options.core.frontend = tiny_frontend();
  options.executor = [] { return exec::make_cpu_executor({.threads = 1}); };
  return options;
}

std::vector<float> values_of(const state::TensorView& tensor) {
  std::vector<float> values(static_cast<std::size_t>(*state::element_count(tensor.shape)));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

/// What a core keeps of f32 values as bf16, and the largest error.
struct Rounded {
  std::vector<std::uint16_t> bits;
  double largest_error = 0;
};
Rounded rounded(const std::vector<float>& values) {
  Rounded result;
  for (const float value : values) {
    const BFloat16 narrow = to_bfloat16(value);
    result.bits.push_back(narrow.bits);
    result.largest_error =
        std::max(result.largest_error, std::abs(static_cast<double>(to_float(narrow) - value)));
  }
  return result;
}

class PrepareTest : public TestDirectory {
 protected:
  contract::Core prepared(const model::OpenedModel& opened, const PrepareOptions& options) const {
    prepare_core(opened, options, core_);
    return contract::read_core(core_, {.allow_unsigned = true});
  }

  /// The tiny model with one element of a tensor changed.
  std::filesystem::path tiny_with(const std::string& tensor, float value) const {
    std::filesystem::create_directories(directory_ / "changed");
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::copy(tiny() / name, directory_ / "changed");
    std::string file = read_file(directory_ / "changed" / "model.safetensors");
    std::uint64_t header = 0;
    std::memcpy(&header, file.data(), sizeof(header));
    const Json facts = parse_json(file.substr(8, header), "header");
    const Json& offsets = *facts.find(tensor)->find("data_offsets");
    const auto at = offsets.as_array("offsets").front().as_int64("offset");
    std::memcpy(&file[8 + header + static_cast<std::size_t>(at)], &value, sizeof(value));
    put("changed/model.safetensors", file);
    return directory_ / "changed";
  }

  std::filesystem::path core_ = directory_ / "m.core";
};

TEST_F(PrepareTest, GivesTheSameBytesTwice) {
  const model::OpenedModel opened = model::open_model(tiny());
  prepare_core(opened, tiny_options(), core_);
  prepare_core(opened, tiny_options(), directory_ / "again.core");
  EXPECT_EQ(read_file(core_), read_file(directory_ / "again.core"));
}

TEST_F(PrepareTest, RoundsWeightsAndTellsTheErrorOfEach) {
  const model::OpenedModel opened = model::open_model(tiny());
  std::map<std::string, Rounded> expected;
  model::load_parameters(opened, [&](const state::TensorView& tensor) {
    expected[tensor.name] = rounded(values_of(tensor));
  });
  const contract::Core core = prepared(opened, tiny_options());
  for (const contract::WeightView& weight : core.weights)
    EXPECT_EQ(
        std::memcmp(weight.bytes.data(), expected.at(weight.name).bits.data(), weight.bytes.size()),
        0);
  EXPECT_EQ(core.contract.precision.size(), expected.size());
  for (const contract::PrecisionEntry& entry : core.contract.precision) {
    EXPECT_EQ(entry.transform, "round");
    EXPECT_EQ(entry.largest_error, expected.at(entry.weight).largest_error) << entry.weight;
    EXPECT_EQ(entry.changes_values, entry.largest_error > 0);
    EXPECT_THAT(entry.sources, ElementsAre(entry.weight));
  }
}

TEST_F(PrepareTest, KeepsWeightsOfTheSameKindAsTheyAre) {
  const model::OpenedModel opened = model::open_model(tiny());
  const contract::Core core = prepared(opened, tiny_options(ir::Kind::f32));
  for (const contract::PrecisionEntry& entry : core.contract.precision) {
    EXPECT_EQ(entry.transform, "identity");
    EXPECT_FALSE(entry.changes_values);
  }
}

TEST_F(PrepareTest, SaysOfEveryGgufTensorWhatBecameOfIt) {
  const model::OpenedModel opened =
      model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "app" / "llama_tiny.gguf");
  prepare_core(opened, tiny_options(ir::Kind::f32), core_);
  const contract::Core core = contract::read_core(core_, {.allow_unsigned = true});
  std::map<std::string, std::string> transforms;
  for (const contract::PrecisionEntry& entry : core.contract.precision)
    transforms[entry.sources.front()] = entry.transform;
  EXPECT_EQ(transforms.size(), opened.checkpoint.tensors().size());
  EXPECT_EQ(transforms.at("blk.0.attn_q.weight"), "rearrange");
  EXPECT_EQ(transforms.at("blk.0.attn_v.weight"), "identity");
}

TEST_F(PrepareTest, PlansWhatAnExecutorRunsOpForOp) {
  const contract::Core core = prepared(model::open_model(tiny()), tiny_options());
  for (const contract::EntryView& entry : contract::entries(core.contract)) {
    for (std::size_t i = 0; i < entry.instances.size(); ++i) {
      const ir::Program instance = ir::instantiate(*entry.program, entry.instances[i]);
      EXPECT_EQ(ir::lower(*entry.program, entry.instances[i]), instance);
      EXPECT_EQ((*entry.plans)[i].kernels.size(), instance.ops.size());
      EXPECT_NE((*entry.plans)[i].kernels.front().kernel, "");
    }
  }
}

TEST_F(PrepareTest, RefusesMoreInstancesThanAreAllowedAndTellsWhatEachCosts) {
  PrepareOptions options = tiny_options();
  options.most_instances = 10;
  EXPECT_THAT([&] { prepare_core(model::open_model(tiny()), options, core_); },
              ThrowsMessage<Error>(
                  testing::AllOf(HasSubstr("the catalogue has 13 instances, expected at most 10"),
                                 HasSubstr("\nextend            64       4       4"),
                                 HasSubstr("\ncopy_pages         0       0       0"))));
  EXPECT_THAT(listing(directory_), IsEmpty());
}

TEST_F(PrepareTest, RefusesANormThatIsNotFinite) {
  const model::OpenedModel opened =
      model::open_model(tiny_with("model.norm.weight", std::numeric_limits<float>::infinity()));
  EXPECT_THAT(
      [&] { prepare_core(opened, tiny_options(), core_); },
      ThrowsMessage<Error>(HasSubstr("WEIGHT_NONFINITE: 'model.norm.weight' has 1 element")));
  EXPECT_THAT(listing(directory_), ElementsAre("changed"));
}

TEST_F(PrepareTest, CountsElementsOfAMatrixThatAreNotFinite) {
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  const model::OpenedModel opened =
      model::open_model(tiny_with(name, std::numeric_limits<float>::quiet_NaN()));
  const contract::Core core = prepared(opened, tiny_options());
  for (const contract::PrecisionEntry& entry : core.contract.precision)
    EXPECT_EQ(entry.non_finite, entry.weight == name ? 1 : 0);
}

TEST_F(PrepareTest, RefusesAValueThatDoesNotFitItsType) {
  const model::OpenedModel opened = model::open_model(
      tiny_with("model.layers.0.mlp.up_proj.weight", std::numeric_limits<float>::max()));
  EXPECT_THAT([&] { prepare_core(opened, tiny_options(), core_); },
              ThrowsMessage<Error>(HasSubstr("has 1 elements that are too large for bf16")));
}

TEST_F(PrepareTest, LeavesNothingWhereverItIsStopped) {
  const model::OpenedModel opened = model::open_model(tiny());
  PrepareOptions options = tiny_options();
  int asked = 0;
  options.is_wanted = [&] { return ++asked > 0; };
  prepare_core(opened, options, core_);
  std::filesystem::remove(core_);
  const int all = asked;
  for (int last = 1; last <= all; ++last) {
    asked = 0;
    options.is_wanted = [&] { return ++asked < last; };
    EXPECT_THROW(prepare_core(opened, options, core_), Error) << last;
    EXPECT_THAT(listing(directory_), IsEmpty()) << last;
  }
}

TEST_F(PrepareTest, MergesAnAdapterIntoTheWeights) {
  const model::OpenedModel opened = model::with_adapter(model::open_model(tiny()), tiny_adapter());
  const state::TensorSource merged = model::merged_parameters(opened);
  const contract::Core core = prepared(opened, tiny_options());
  EXPECT_EQ(core.weights.size(), merged.names.size());
  for (const contract::WeightView& weight : core.weights) {
    const Rounded expected = rounded(values_of(merged.read(weight.name)));
    EXPECT_EQ(std::memcmp(weight.bytes.data(), expected.bits.data(), weight.bytes.size()), 0);
  }
  const auto is_merged = [](const contract::PrecisionEntry& entry) {
    return entry.transform == "merge+round" && entry.sources.size() == 3 && entry.changes_values;
  };
  EXPECT_EQ(std::ranges::count_if(core.contract.precision, is_merged),
            std::ssize(opened.model.lora->modules));
}

TEST_F(PrepareTest, KeepsTheParametersOfAnAdapter) {
  const model::OpenedModel opened = model::with_adapter(model::open_model(tiny()), tiny_adapter());
  PrepareOptions options = tiny_options();
  options.core.adapter = AdapterUse::keep;
  const contract::Core core = prepared(opened, options);
  const std::string module = opened.model.lora->modules.front();
  const auto is_there = [&](const std::string& name) {
    return std::ranges::find(core.weights, name, &contract::WeightView::name) != core.weights.end();
  };
  EXPECT_TRUE(is_there(model::lora_a_name(module)));
  EXPECT_TRUE(is_there(model::lora_b_name(module)));
  EXPECT_TRUE(is_there(model::adapted_weight_name(module)));
}

TEST_F(PrepareTest, TellsEachPhaseWithItsMemory) {
  PrepareOptions options = tiny_options();
  std::vector<std::string> names;
  options.on_phase = [&](const PhaseReport& report) {
    names.emplace_back(report.name);
    EXPECT_GT(report.memory_bytes, 0);
  };
  prepare_core(model::open_model(tiny()), options, core_);
  EXPECT_THAT(names, ElementsAre("compose", "memory", "kernels", "weights", "file"));
}

TEST_F(PrepareTest, PlansWithoutADeviceOrAFile) {
  PrepareOptions options = tiny_options();
  options.executor = {};
  const contract::Contract contract = plan_core(model::open_model(tiny()), options);
  EXPECT_TRUE(contract.plans.front().kernels.empty());
  EXPECT_GT(contract.target.memory_bytes, 0);
  EXPECT_THAT(listing(directory_), IsEmpty());
}

TEST(MakeFrontend, KnowsTheSpecialTokensAndFormats) {
  const contract::Frontend frontend = tiny_frontend();
  const text::Tokenizer tokenizer = tokenizer_of(frontend);
  EXPECT_EQ(frontend.bos_id, tokenizer.special_ids().bos);
  EXPECT_THAT(frontend.special_ids, testing::Contains(*tokenizer.find("<|im_end|>")));
  EXPECT_EQ(frontend.assets.front().name, "tokenizer_config.json");
  EXPECT_EQ(frontend.tool_format, "");
}

TEST(MakeFrontend, RefusesWhatCannotFrameAMessage) {
  const std::vector<contract::Asset> files = {
      {.name = "tokenizer.json", .bytes = read_file(tiny() / "tokenizer.json")}};
  EXPECT_THAT([&] { make_frontend({}, {}); },
              ThrowsMessage<Error>("the model has no tokenizer.json, expected one"));
  EXPECT_THROW(make_frontend(files, "{% if %}"), Error);
  EXPECT_THROW(make_frontend(files, "{{ raise_exception('no') }}"), Error);
  EXPECT_THAT([&] { make_frontend(files, "{{ '' }}"); },
              ThrowsMessage<Error>(HasSubstr("makes nothing of a user's message")));
  EXPECT_EQ(make_frontend(files, {}).chat_template, "");
  EXPECT_NO_THROW(make_frontend(files, "{{ strftime_now('%d %B %Y') }}"));
}

}  // namespace
}  // namespace parhelion::prepare
