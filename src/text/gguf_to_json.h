#pragma once

#include "text/gguf_vocabulary.h"

#include <optional>
#include <string>

namespace parhelion::text {

/// The `tokenizer.json` of a GGUF file's vocabulary: `load_tokenizer_json` and Hugging Face
/// tokenizers make of it a tokenizer that gives the ids of `load_gguf_vocabulary`.
///
/// Errors: as load_gguf_vocabulary.
std::string gguf_to_tokenizer_json(const GgufVocabulary& gguf);

/// The `tokenizer_config.json` beside it, which names the special tokens and holds the chat
/// template.
///
/// Errors: as load_gguf_vocabulary.
std::string gguf_to_tokenizer_config(const GgufVocabulary& gguf,
                                     const std::optional<std::string>& chat_template);

}  // namespace parhelion::text
