#pragma once

#include "base/json.h"
#include "model/model.h"
#include "state/checkpoint.h"

namespace parhelion::model {

/// Qwen3 dense: a Llama whose query and key heads are normalised.
///
/// Errors: invalid or unsupported if a key is missing, unknown, or has a value that
///         cannot be honoured; the message names it.
/// Source: Yang et al. 2025, arXiv:2505.09388; the config keys are those of Transformers
Model qwen3_from_config(const Json& config);
Model qwen3_from_gguf(const state::Checkpoint& checkpoint);

/// The config.json of the form, which `qwen3_from_config` reads back, and of a GGUF file's model.
///
/// Errors: unsupported for biases that a config.json has no key for; of a GGUF file also as above.
Json qwen3_to_config(const Decoder& form, const std::vector<std::int32_t>& eos_ids);
Json qwen3_gguf_to_config(const state::Checkpoint& checkpoint);

}  // namespace parhelion::model
