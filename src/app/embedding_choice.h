#pragma once

#include "prepare/make_contract.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace CLI {
class App;
}

namespace parhelion::app {

/// Whether a model gives vectors of texts.
struct EmbeddingChoice {
  bool wanted = false;  ///< though the model's directory does not say that it does
  std::vector<std::int64_t> dimensions = {};  ///< that vectors may be cut to
};

/// The options --embeddings and --embedding-dimensions.
void add_embedding_options(CLI::App& command, EmbeddingChoice& choice);

/// Adds vectors to what is served, if `model` has a modules.json or they are wanted.
///
/// Errors: invalid if there are dimensions but no vectors; as model::read_embedding_config.
void offer_embeddings(const std::filesystem::path& model, const EmbeddingChoice& choice,
                      std::int64_t step_tokens, prepare::ServingShape& shape);

}  // namespace parhelion::app
