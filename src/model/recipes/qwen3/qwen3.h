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

}  // namespace parhelion::model
