#pragma once

#include "state/checkpoint.h"
#include "text/gguf_vocabulary.h"
#include "text/tokenizer.h"

#include <filesystem>
#include <optional>
#include <string>

namespace parhelion::app {

/// The keys of a GGUF file. Errors: invalid if the checkpoint is none.
const state::GgufMetadata& gguf_metadata(const state::Checkpoint& checkpoint);

/// What a GGUF file says of its tokenizer.
///
/// Errors: invalid if a key is missing or has another type.
text::GgufVocabulary gguf_vocabulary(const state::GgufMetadata& metadata);

/// The tokenizer of a model: `tokenizer.json` of a Hugging Face directory, or a GGUF file's
/// metadata.
///
/// Errors: invalid if there is none; corrupt or unsupported as text::load_tokenizer_json and
/// text::load_gguf_vocabulary.
text::Tokenizer load_tokenizer(const std::filesystem::path& model);

/// The model's chat template: of `chat_template.jinja` or `tokenizer_config.json`, or of a GGUF
/// file's metadata.
///
/// Errors: corrupt if the file that should name it breaks its format.
std::optional<std::string> load_chat_template(const std::filesystem::path& model);

}  // namespace parhelion::app
