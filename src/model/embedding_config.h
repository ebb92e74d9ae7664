#pragma once

#include <filesystem>
#include <optional>

namespace parhelion::model {

/// What becomes of the final hidden state of a text's last token.
struct EmbeddingConfig {
  bool normalises = false;  ///< it is brought to length 1
  bool operator==(const EmbeddingConfig&) const = default;
};

/// How a directory in the layout of sentence-transformers (modules.json, and the config.json of its
/// pooling) makes vectors of texts; nothing if it has no modules.json.
///
/// Errors: unsupported, naming the file, for a pooling other than that of the last token and for
///         modules beside a transformer, a pooling and a normalisation; invalid if a file is not as
///         it must be.
std::optional<EmbeddingConfig> read_embedding_config(const std::filesystem::path& directory);

}  // namespace parhelion::model
