#pragma once

#include "base/json.h"
#include "model/model.h"
#include "state/checkpoint.h"

namespace parhelion::model {

/// The Llama family: Llama 2 and 3, SmolLM2 and others of the same form.
///
/// Errors: invalid or unsupported if a key is missing, unknown, or has a value that
///         cannot be honoured; the message names it.
/// Source: Touvron et al. 2023, arXiv:2302.13971; the config keys are those of Transformers
Model llama_from_config(const Json& config);
Model llama_from_gguf(const state::Checkpoint& checkpoint);

/// The config.json of the form, which `llama_from_config` reads back, and of a GGUF file's model.
///
/// Errors: unsupported for biases that a config.json has no key for; of a GGUF file also as above.
Json llama_to_config(const Decoder& form, const std::vector<std::int32_t>& eos_ids);
Json llama_gguf_to_config(const state::Checkpoint& checkpoint);

}  // namespace parhelion::model
