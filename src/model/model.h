#pragma once

#include "model/adapters/lora.h"
#include "model/blocks/decoder.h"
#include "state/rearrange.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::model {

/// The settings of one draw; see ir::Sample and, for the penalty, ir::EditLogits. Temperature 0 is
/// greedy, top_k 0 and a repetition penalty of 1 are off.
struct Sampling {
  double temperature = 0.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  bool operator==(const Sampling&) const = default;
};

/// What callers may ask for: both ends belong to the range.
struct SamplingRanges {
  Sampling lowest = {
      .temperature = 0.0, .top_k = 0, .top_p = 0.0, .min_p = 0.0, .repetition_penalty = 0.01};
  Sampling highest = {.temperature = 5.0,
                      .top_k = 1'000'000,
                      .top_p = 1.0,
                      .min_p = 1.0,
                      .repetition_penalty = 100};
  bool operator==(const SamplingRanges&) const = default;
};

/// A model as data: what programs, engines and front ends need to know of it.
struct Model {
  std::string architecture = {};  ///< the recipe's name, such as `llama`
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_positions = 0;          ///< longest sequence, in tokens
  std::vector<std::int32_t> eos_ids = {};  ///< tokens that end a sequence
  Sampling sampling = {};                  ///< what the checkpoint recommends
  SamplingRanges sampling_ranges = {};
  double initial_deviation = 0.02;  ///< of weights that begin at random
  bool tied_head = false;           ///< the head's weight is the embedding table
  /// How GGUF files order the rows of each query and key head.
  state::RopeLayout gguf_rope_rows = state::RopeLayout::half;

  /// Adapters that are kept beside the weights in every program of the model.
  std::optional<Lora> lora = {};

  /// Appends the whole model to a program, weights and activations of `kind`, without adapters.
  std::function<Backbone(ir::Builder&, ir::Kind kind, Context&)> build = {};
};

}  // namespace parhelion::model
