#pragma once

#include "contract/contract.h"
#include "model/model.h"

#include <vector>

namespace parhelion::app {

/// Tokens of a page of keys and values.
inline constexpr std::int64_t kPageTokens = 64;

/// What to serve a model with.
struct ServingShape {
  ir::Kind kind = ir::Kind::bf16;
  std::int64_t context_tokens = 0;  ///< the longest sequence
  std::vector<ir::Capacities> catalogue = {};
  std::int64_t page_tokens = kPageTokens;
};

/// One row of a catalogue for one sequence.
ir::Capacities one_row(std::int64_t tokens, std::int64_t logit_rows);

/// The contract of a model that is served by the process that built it.
contract::Contract make_contract(const model::Model& model, const ServingShape& shape);

}  // namespace parhelion::app
