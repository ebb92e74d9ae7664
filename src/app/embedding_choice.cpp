#include "app/embedding_choice.h"

#include "base/error.h"
#include "model/embedding_config.h"

#include <CLI/CLI.hpp>

namespace parhelion::app {

void add_embedding_options(CLI::App& command, EmbeddingChoice& choice) {
  command.add_flag("--embeddings", choice.wanted,
                   "answer /v1/embeddings with the last token's hidden state, though MODEL has no "
                   "modules.json that says so");
  command
      .add_option("--embedding-dimensions", choice.dimensions,
                  "dimensions that requests may cut vectors to")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
}

void offer_embeddings(const std::filesystem::path& model, const EmbeddingChoice& choice,
                      std::int64_t step_tokens, prepare::ServingShape& shape) {
  const auto config = model::read_embedding_config(model);
  if (!config && !choice.wanted) {
    ensure(choice.dimensions.empty(), ErrorKind::invalid,
           "--embedding-dimensions: is given, but {} has no modules.json, expected --embeddings",
           model.string());
    return;
  }
  shape.embed_catalogue = prepare::embedding_catalogue(shape.slots, step_tokens);
  shape.embedding.normalises = !config || config->normalises;
  shape.embedding.dimensions = choice.dimensions;
}

}  // namespace parhelion::app
