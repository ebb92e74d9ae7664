#include "model/adapters/adapter_config.h"

#include "base/error.h"
#include "base/file.h"
#include "model/checkpoint_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace parhelion::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// The smallest adapter_config.json with one member replaced, or added.
Json adapter_config_with(std::string key, Json value) {
  Json::Object members{{"peft_type", "LORA"},
                       {"r", 4},
                       {"lora_alpha", 8},
                       {"target_modules", Json::Array{"q_proj"}}};
  for (Json::Member& member : members) {
    if (member.first != key) continue;
    member.second = std::move(value);
    return members;
  }
  members.emplace_back(std::move(key), std::move(value));
  return members;
}

TEST(AdapterConfig, ReadsWhatPeftWrites) {
  const std::filesystem::path path = golden_path("peft_tiny") / "adapter_config.json";
  const AdapterConfig config = read_adapter_config(parse_json(read_file(path), "file"), "file");
  EXPECT_EQ(config.lora, (Lora{.rank = 4, .alpha = 6, .dropout = 0.1}));
  EXPECT_DOUBLE_EQ(config.lora.scale(), 1.5);
  EXPECT_THAT(config.targets, ElementsAre("down_proj", "q_proj", "v_proj"));
  EXPECT_EQ(config.base, "llama_tiny");
  EXPECT_EQ(config.base_digest, "");
}

TEST(AdapterConfig, LeavesTheModulesToTheTensorsWhereAPatternNamesThem) {
  const Json config = adapter_config_with("target_modules", ".*_proj");
  EXPECT_THAT(read_adapter_config(config, "file").targets, IsEmpty());
}

TEST(AdapterConfig, TakesKeysItDoesNotKnowWhereTheySayNothing) {
  for (const Json& value : {Json(nullptr), Json(false), Json(Json::Object{}), Json(Json::Array{})})
    EXPECT_NO_THROW(read_adapter_config(adapter_config_with("use_new_method", value), "file"));
}

TEST(AdapterConfig, RefusesWhatItCannotHonour) {
  struct ConfigRefusal {
    std::string key;
    Json value;
    std::string message;
  };
  for (const ConfigRefusal& each : std::vector<ConfigRefusal>{
           {"r", nullptr, "file: r is missing"},
           {"r", 0, "file: r is 0, expected 1 to 16777216"},
           {"lora_alpha", -1, "file: lora_alpha is -1, expected > 0"},
           {"lora_dropout", 1.5, "file: lora_dropout is 1.5, expected a number in [0, 1)"},
           {"target_modules", nullptr, "file: target_modules is missing"},
           {"peft_type", "IA3", "file: peft_type is \"IA3\", expected \"LORA\""},
           {"bias", "all", "file: bias is \"all\", expected \"none\""},
           {"use_dora", true, "file: use_dora is true, expected false"},
           {"use_rslora", true, "file: use_rslora is true, expected false"},
           {"rank_pattern", Json::Object{{"q_proj", 2}},
            "file: rank_pattern is {\"q_proj\":2}, expected {}"},
           {"modules_to_save", Json::Array{"lm_head"},
            "file: modules_to_save is [\"lm_head\"], expected null"},
           {"init_lora_weights", "pissa",
            "file: init_lora_weights is \"pissa\", expected true, false or \"gaussian\""},
           {"use_new_method", true, "file: unknown keys 'use_new_method'"}}) {
    EXPECT_THAT([&] { read_adapter_config(adapter_config_with(each.key, each.value), "file"); },
                ThrowsMessage<Error>(each.message));
  }
}

TEST(AdapterConfig, IsReadBackFromWhatIsWritten) {
  const std::vector<std::string> all = {"a.q", "a.v", "b.q", "b.v"};
  AdapterConfig config{
      .lora = {.rank = 3, .alpha = 4.5, .dropout = 0.25, .modules = {"a.q", "b.q"}},
      .base = "somewhere",
      .base_digest = "0123"};
  const auto read_back = [&] {
    return read_adapter_config(parse_json(adapter_config_text(config, all), "text"), "text");
  };
  EXPECT_EQ(read_back().lora, (Lora{.rank = 3, .alpha = 4.5, .dropout = 0.25}));
  EXPECT_THAT(read_back().targets, ElementsAre("q")) << "stands for just these modules";
  EXPECT_EQ(read_back().base, "somewhere");
  EXPECT_EQ(read_back().base_digest, "0123");
  config.lora.modules = {"a.q", "b.v"};
  EXPECT_THAT(read_back().targets, ElementsAre("a.q", "b.v"));
}

TEST(AdapterConfig, NamesModulesByWholePartsOfTheirPaths) {
  EXPECT_TRUE(is_adapter_target({"q_proj"}, "model.layers.0.self_attn.q_proj"));
  EXPECT_TRUE(is_adapter_target({"x", "self_attn.q_proj"}, "model.layers.0.self_attn.q_proj"));
  EXPECT_TRUE(is_adapter_target({"q_proj"}, "q_proj"));
  EXPECT_FALSE(is_adapter_target({"proj", "layers.0"}, "model.layers.0.self_attn.q_proj"));
}

}  // namespace
}  // namespace parhelion::model
