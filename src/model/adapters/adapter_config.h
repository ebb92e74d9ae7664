#pragma once

#include "base/json.h"
#include "model/adapters/lora.h"

#include <string>
#include <string_view>
#include <vector>

namespace parhelion::model {

/// The file that makes a directory an adapter.
inline constexpr std::string_view kAdapterConfigName = "adapter_config.json";

/// What the name of the file with an adapter's tensors begins with in Hugging Face's PEFT layout.
inline constexpr std::string_view kAdapterStem = "adapter_model";

/// What an adapter_config.json says.
struct AdapterConfig {
  Lora lora = {};  ///< without modules, which follow from `targets` or from the tensors
  /// A module is adapted if its path is one of these, or ends with a dot and one of these. Empty:
  /// a pattern says which are, so the tensors do.
  std::vector<std::string> targets = {};
  std::string base = {};         ///< the model that it was trained on
  std::string base_digest = {};  ///< `weights_digest` of that; empty: not known
};

/// Reads the keys of Hugging Face's PEFT, and of checkpoints that training saves. A key whose value
/// is null, false or empty has no effect.
///
/// Errors: invalid if a key is missing or has a value of the wrong type or range; unsupported for
///         other methods than plain LoRA, and for keys that are unknown; the message names the key.
AdapterConfig read_adapter_config(const Json& config, std::string where);

/// The text of an adapter_config.json, which PEFT reads if there is no `base_digest`. `all` are the
/// projections of the model, which `config.lora.modules` are of.
std::string adapter_config_text(const AdapterConfig& config, const std::vector<std::string>& all);

/// Whether `targets` name a module.
bool is_adapter_target(const std::vector<std::string>& targets, std::string_view module);

/// PEFT's names of an adapter's tensors.
std::string peft_lora_a_name(std::string_view module);
std::string peft_lora_b_name(std::string_view module);

}  // namespace parhelion::model
