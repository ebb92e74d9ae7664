#include "model/adapters/adapter_config.h"

#include "base/error.h"
#include "model/recipes/config_keys.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace parhelion::model {
namespace {

constexpr std::string_view kPeftPrefix = "base_model.model.";
constexpr std::string_view kDigestKey = "base_digest";

/// What PEFT writes for whatever an adapter does not use.
bool says_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.as_bool("");
  if (value.is_array()) return value.as_array("").empty();
  return value.is_object() && value.as_object("").empty();
}

Json members_that_say_something(const Json& config, std::string_view where) {
  Json::Object members;
  for (const Json::Member& member : config.as_object(where)) {
    if (!says_nothing(member.second)) members.push_back(member);
  }
  return members;
}

/// Ways to initialise that leave the base's weights alone; others move them.
void check_initialisation(ConfigKeys& keys) {
  const Json* how = keys.find("init_lora_weights");
  const bool is_plain = how == nullptr || how->is_bool() || *how == Json("gaussian");
  ensure(is_plain, ErrorKind::unsupported,
         "{}: init_lora_weights is {}, expected true, false or \"gaussian\"", keys.where(),
         how == nullptr ? "" : write_json(*how));
}

/// Features that change what is computed, by the names that are well known.
void refuse_other_methods(ConfigKeys& keys) {
  for (const char* key : {"use_rslora", "use_dora", "lora_bias", "fan_in_fan_out"})
    keys.expect(key, false);
  for (const char* key : {"rank_pattern", "alpha_pattern"}) keys.expect(key, Json::Object{});
  for (const char* key : {"modules_to_save", "layers_to_transform", "exclude_modules"})
    keys.expect(key, nullptr);
}

std::vector<std::string> targets_of(ConfigKeys& keys) {
  const Json* value = keys.find("target_modules");
  ensure(value != nullptr, ErrorKind::invalid, "{}: target_modules is missing", keys.where());
  std::vector<std::string> result;
  if (value->is_string()) return result;
  const std::string where = keys.where() + ": target_modules";
  for (const Json& each : value->as_array(where)) result.push_back(each.as_string(where));
  return result;
}

double dropout_of(ConfigKeys& keys) {
  const Json* value = keys.find("lora_dropout");
  const std::string where = keys.where() + ": lora_dropout";
  const double dropout = value == nullptr ? 0 : value->as_double(where);
  ensure(dropout >= 0 && dropout < 1, ErrorKind::invalid, "{} is {}, expected a number in [0, 1)",
         where, dropout);
  return dropout;
}

std::string text_of(ConfigKeys& keys, std::string_view key) {
  const Json* value = keys.find(key);
  return value == nullptr ? "" : value->as_string(fmt::format("{}: {}", keys.where(), key));
}

/// The last parts of the modules' paths if these stand for just these modules, else their paths.
Json::Array shortest_targets(const std::vector<std::string>& modules,
                             const std::vector<std::string>& all) {
  std::vector<std::string> parts;
  for (const std::string& module : modules) {
    const std::string part = module.substr(module.rfind('.') + 1);
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
  }
  const auto count = std::ranges::count_if(
      all, [&](const std::string& module) { return is_adapter_target(parts, module); });
  const auto& chosen = count == std::ssize(modules) ? parts : modules;
  return {chosen.begin(), chosen.end()};
}

/// PEFT wants an integer where it is one.
Json shortest_number(double value) {
  if (value == std::floor(value) && value < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

AdapterConfig read_adapter_config(const Json& config, std::string where) {
  const Json members = members_that_say_something(config, where);
  ConfigKeys keys(members, std::move(where));
  keys.expect("peft_type", "LORA");
  keys.expect("task_type", "CAUSAL_LM");
  keys.expect("bias", "none");
  refuse_other_methods(keys);
  check_initialisation(keys);
  keys.ignore({"auto_mapping", "inference_mode", "megatron_core", "peft_version",
               "qalora_group_size", "revision"});
  AdapterConfig result{
      .lora = {.rank = keys.size("r"),
               .alpha = keys.positive("lora_alpha"),
               .dropout = dropout_of(keys)},
      .targets = targets_of(keys),
      .base = text_of(keys, "base_model_name_or_path"),
      .base_digest = text_of(keys, kDigestKey),
  };
  keys.finish();
  return result;
}

std::string adapter_config_text(const AdapterConfig& config, const std::vector<std::string>& all) {
  Json::Object members{{"peft_type", "LORA"},
                       {"task_type", "CAUSAL_LM"},
                       {"base_model_name_or_path", config.base},
                       {"r", config.lora.rank},
                       {"lora_alpha", shortest_number(config.lora.alpha)},
                       {"lora_dropout", config.lora.dropout},
                       {"target_modules", shortest_targets(config.lora.modules, all)},
                       {"bias", "none"},
                       {"fan_in_fan_out", false},
                       {"init_lora_weights", true},
                       {"inference_mode", true}};
  if (!config.base_digest.empty()) members.emplace_back(kDigestKey, config.base_digest);
  return write_json(members) + "\n";
}

bool is_adapter_target(const std::vector<std::string>& targets, std::string_view module) {
  return std::ranges::any_of(targets, [module](const std::string& target) {
    return module == target || module.ends_with("." + target);
  });
}

std::string peft_lora_a_name(std::string_view module) {
  return fmt::format("{}{}.lora_A.weight", kPeftPrefix, module);
}
std::string peft_lora_b_name(std::string_view module) {
  return fmt::format("{}{}.lora_B.weight", kPeftPrefix, module);
}

}  // namespace parhelion::model
