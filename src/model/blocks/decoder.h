#pragma once

#include "model/blocks/attention.h"
#include "model/blocks/gated_mlp.h"

#include <cstdint>

namespace parhelion::model {

/// A dense pre-norm decoder: what Llama, Qwen3 and their kin have in common.
struct Decoder {
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  double norm_eps = 1e-6;
  bool tied_head = false;  ///< the head's weight is the embedding table
  GroupedAttention attention = {};
  GatedMlp mlp = {};
  ir::RopeTable rope = {};
};

/// What heads are put on: the last hidden states after the final norm [tokens, hidden], and the
/// weight of the language model head [vocabulary, hidden].
struct Backbone {
  ir::ValueId hidden;
  ir::ValueId head_weight;
};

/// Builds the whole decoder with Hugging Face's parameter names. The embedding has layer 0, layer
/// i has i + 1, the final norm and what follows have layers + 1.
Backbone decoder(ir::Builder& builder, ir::Kind kind, const Decoder& config, Context& context);

}  // namespace parhelion::model
