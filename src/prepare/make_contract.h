#pragma once

#include "contract/contract.h"
#include "model/model.h"

#include <vector>

namespace parhelion::prepare {

/// Tokens of a page of keys and values.
inline constexpr std::int64_t kPageTokens = 64;

/// What to serve a model with.
struct ServingShape {
  ir::Kind kind = ir::Kind::bf16;
  std::int64_t context_tokens = 0;  ///< the longest sequence
  std::vector<ir::Capacities> catalogue = {};
  std::int64_t page_tokens = kPageTokens;
  std::int64_t slots = 1;  ///< sequences whose last drawn token the device keeps
  std::vector<ir::Capacities> edited_catalogue = {};  ///< empty: logits cannot be edited
  std::int64_t copy_lanes = 16;                       ///< pages copied at once
  std::vector<ir::Capacities> embed_catalogue = {};   ///< empty: no embeddings
  contract::EmbeddingPolicy embedding = {};
};

/// One row of a catalogue for one sequence.
ir::Capacities one_row(std::int64_t tokens, std::int64_t logit_rows);

/// Instances for up to `rows` sequences at a time and steps of up to `step_tokens` tokens: decode
/// by powers of two, prompts from the next larger one on, and one that scores prompts.
std::vector<ir::Capacities> serving_catalogue(std::int64_t rows, std::int64_t step_tokens);

/// Instances of embeddings of up to `rows` texts at a time, and of steps of up to `step_tokens`
/// tokens.
std::vector<ir::Capacities> embedding_catalogue(std::int64_t rows, std::int64_t step_tokens);

/// The contract of a model that is served by the process that built it.
contract::Contract make_contract(const model::Model& model, const ServingShape& shape);

}  // namespace parhelion::prepare
