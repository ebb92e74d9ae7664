#pragma once

#include "model/model.h"
#include "state/checkpoint.h"

#include <string_view>

namespace parhelion::model {

/// Reads a dense decoder from the keys of a GGUF file. What GGUF keeps no key for follows from the
/// tensors: biases, a tied head, and Llama-3 frequencies, which lie in `rope_freqs.weight`.
///
/// Errors: invalid or unsupported if a key is missing, unknown, or has a value that cannot be
///         honoured; the message names it. Unsupported if `rope_freqs.weight` follows no known
///         rule. Bug if the checkpoint has no GGUF keys.
Decoder decoder_from_gguf(const state::Checkpoint& checkpoint, std::string_view architecture);

/// The token that ends a sequence, from `tokenizer.ggml.eos_token_id` and `.eot_token_id`.
///
/// Errors: invalid if an id is outside the vocabulary.
std::vector<std::int32_t> eos_ids_from_gguf(const state::GgufMetadata& metadata,
                                            std::int64_t vocabulary);

}  // namespace parhelion::model
